"""Finds the skills below a folder.

Not ``os.walk`` or ``rglob``: the one runs in circles over links, the other skips linked folders.
Order depends on names only, real folders come before linked ones, every folder is entered once,
and whatever is not entered is reported.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from skillcue.library.codes import diagnostic
from skillcue.library.limits import ReadLimits
from skillcue.library.opening import inside
from skillcue_hooks.contracts import Diagnostic

__all__ = ["PRUNED", "SKILL_FILE", "Found", "WalkResult", "is_pruned", "is_skill_file", "walk"]

SKILL_FILE = "SKILL.md"
PRUNED = frozenset({"node_modules", "__pycache__", "site-packages"})
"""Folders that are never entered, besides hidden ones."""


@dataclass(frozen=True, slots=True)
class Found:
    """One skill folder.

    Attributes:
        relative: Its folder below the source, POSIX, by the names in the library (links
            included); ``.`` for the source itself.
        folder: Its folder on disk; resolved where a link led to it.
        file: Name of its SKILL.md, as spelled.
        ignored: Other spellings beside it.
    """

    relative: str
    folder: str
    file: str
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WalkResult:
    """All skills of a source.

    Attributes:
        found: Ordered by depth, then by path.
        diagnostics: In order of path.
        listed: False when the source folder itself could not be listed.
    """

    found: tuple[Found, ...]
    diagnostics: tuple[Diagnostic, ...]
    listed: bool = True


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    relative: str
    depth: int

    def child(self, name: str) -> _Folder:
        relative = name if self.relative == "." else f"{self.relative}/{name}"
        return _Folder(os.path.join(self.path, name), relative, self.depth + 1)


@dataclass(slots=True)
class _Entries:
    """What one folder holds, by kind."""

    skill_files: list[os.DirEntry[str]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def walk(
    root: str, limits: ReadLimits, roots: Iterable[str] = (), follow_outside: bool = True
) -> WalkResult:
    """All skills below `root`; a folder with a SKILL.md is a skill and is not searched further.

    Args:
        root: Absolute path of a folder; it may be a skill itself.
        limits: ``walk_depth`` and ``walk_folders``.
        roots: Resolved folders into which links may lead, besides `root`.
        follow_outside: Linked *folders* may lead anywhere; a linked SKILL.md may not.
    """
    walker = _Walker(root, limits, [*roots, os.path.realpath(root)], follow_outside)
    return walker.run()


def is_pruned(name: str) -> bool:
    """A folder of that name is not entered."""
    return name.startswith(".") or name in PRUNED


def is_skill_file(name: str) -> bool:
    """The name is SKILL.md in any spelling."""
    return len(name) == len(SKILL_FILE) and name.casefold() == SKILL_FILE.casefold()


class _Walker:
    def __init__(
        self, root: str, limits: ReadLimits, roots: list[str], follow_outside: bool
    ) -> None:
        self._root = _Folder(root, ".", 0)
        self._limits = limits
        self._roots = roots
        self._follow_outside = follow_outside
        self._seen: set[tuple[int, int]] = set()
        self._found: list[Found] = []
        self._diagnostics: list[Diagnostic] = []
        self._links: list[_Folder] = []
        self._too_deep: list[str] = []
        self._stopped = False
        self._listed = True

    def run(self) -> WalkResult:
        self._tree(self._root)
        while self._links and not self._stopped:
            links, self._links = self._links, []
            for link in sorted(links, key=lambda item: item.relative):
                self._link(link)
        self._summarise()
        self._found.sort(key=lambda item: (item.relative.count("/"), item.relative))
        self._diagnostics.sort(key=lambda item: (str(item.path), item.code, item.message))
        return WalkResult(tuple(self._found), tuple(self._diagnostics), self._listed)

    def _tree(self, start: _Folder) -> None:
        """Everything below `start`, without links."""
        pending = [start]
        while pending:
            folder = pending.pop()
            entries = self._enter(folder)
            if entries is None:
                continue
            if entries.skill_files and self._is_skill(folder, entries.skill_files):
                if folder is self._root:
                    self._look_for_nested(folder, entries)
                continue
            if folder.depth >= self._limits.walk_depth:
                if entries.folders or entries.links:
                    self._too_deep.append(folder.path)
                continue
            self._links += [folder.child(name) for name in entries.links]
            pending += [folder.child(name) for name in sorted(entries.folders, reverse=True)]

    def _enter(self, folder: _Folder) -> _Entries | None:
        """List a folder that was not entered before; None when there is nothing to list."""
        if self._stopped:
            return None
        try:
            state = os.stat(folder.path)
            if (key := (state.st_dev, state.st_ino)) in self._seen:
                return None
            if len(self._seen) >= self._limits.walk_folders:
                self._stop(folder)
                return None
            self._seen.add(key)
            return _list(folder.path)
        except OSError as error:
            self._note("folder-unreadable", folder.path, _reason(error))
            self._listed = self._listed and folder is not self._root
            return None

    def _link(self, link: _Folder) -> None:
        """Follow one link if it leads to a folder."""
        try:
            state = os.stat(link.path)
        except OSError as error:
            self._note("link-broken", link.path, _reason(error))
            return
        if not stat.S_ISDIR(state.st_mode):
            return
        target = os.path.realpath(link.path)
        around = inside(os.path.realpath(self._root.path), [target])
        if around or (state.st_dev, state.st_ino) in self._seen:
            self._note("link-already-seen", link.path, f"It leads to {target}.")
        elif not (self._follow_outside or inside(target, self._roots)):
            self._note("link-outside", link.path, f"It leads to {target}.")
        else:
            self._tree(_Folder(target, link.relative, link.depth))

    def _is_skill(self, folder: _Folder, entries: list[os.DirEntry[str]]) -> bool:
        """Record the skill; False when all that is called SKILL.md are folders."""
        if len(entries) == 1 and entries[0].is_file(follow_symlinks=False):
            self._found.append(Found(folder.relative, folder.path, entries[0].name))
            return True
        names = sorted(
            (entry.name for entry in entries), key=lambda name: (name != SKILL_FILE, name)
        )
        by_name = {entry.name: entry for entry in entries}
        folders = [name for name in names if self._is_folder(by_name[name])]
        files = [name for name in names if name not in folders]
        for name in folders:
            path = os.path.join(folder.path, name)
            self._note("skill-file-is-folder", path, "A folder has the name of a skill file.")
        if not files:
            return False
        chosen = next((n for n in files if self._is_usable(by_name[n], folder)), None)
        if chosen is not None:
            ignored = tuple(name for name in files if name != chosen)
            self._found.append(Found(folder.relative, folder.path, chosen, ignored))
        return True

    def _is_usable(self, entry: os.DirEntry[str], folder: _Folder) -> bool:
        """A regular file, or a link to one in an allowed folder; anything else is reported."""
        try:
            state = entry.stat() if entry.is_symlink() else entry.stat(follow_symlinks=False)
        except OSError as error:
            code = "link-broken" if entry.is_symlink() else "file-unreadable"
            self._note(code, entry.path, _reason(error))
            return False
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            if not inside(target, [*self._roots, os.path.realpath(folder.path)]):
                self._note("link-outside", entry.path, f"It leads to {target}.")
                return False
        if not stat.S_ISREG(state.st_mode):
            self._note("not-a-regular-file", entry.path, stat.filemode(state.st_mode))
            return False
        return True

    @staticmethod
    def _is_folder(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:  # a link in a circle; reported when it is opened
            return False

    def _look_for_nested(self, folder: _Folder, entries: _Entries) -> None:
        """Report skill files below a source that is itself a skill; they are not skills here."""
        nested = 0
        for name in entries.folders:
            inner = _Walker(os.path.join(folder.path, name), self._limits, self._roots, False)
            inner._tree(inner._root)
            nested += len(inner._found)
        if nested:
            self._note("nested-skills", folder.path, f"{nested} SKILL.md files lie inside it.")

    def _stop(self, folder: _Folder) -> None:
        self._stopped = True
        limit = self._limits.walk_folders
        self._note("folder-limit", folder.path, f"Stopped here after {limit} folders.")

    def _summarise(self) -> None:
        if self._too_deep:
            count, depth = len(self._too_deep), self._limits.walk_depth
            message = f"{count} folders at level {depth} hold more; the first is this one."
            self._note("depth-limit", min(self._too_deep), message)
        if not self._found and self._listed:
            self._note("no-skills-found", self._root.path, self._hint())

    def _hint(self) -> str:
        """Skills often sit in a hidden folder of a project, which is entered only when named."""
        try:
            names = sorted(os.listdir(self._root.path))
        except OSError as error:
            return _reason(error)
        hidden = [name for name in names if name.startswith(".")]
        paths = (os.path.join(self._root.path, name, "skills") for name in hidden)
        found = [path for path in paths if os.path.isdir(path)]
        return f"Did you mean {found[0]}?" if found else f"{len(names)} entries, none a skill."

    def _note(self, code: str, path: str, message: str) -> None:
        self._diagnostics.append(diagnostic(code, Path(path), message))


def _list(path: str) -> _Entries:
    entries = _Entries()
    with os.scandir(path) as listing:
        for entry in listing:
            name = entry.name
            if is_skill_file(name):
                entries.skill_files.append(entry)
            elif is_pruned(name):
                continue
            elif entry.is_symlink():
                entries.links.append(name)
            elif entry.is_dir(follow_symlinks=False):
                entries.folders.append(name)
    return entries


def _reason(error: OSError) -> str:
    return f"{error.strerror or error}."
