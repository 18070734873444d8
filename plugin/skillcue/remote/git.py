"""Skills from a git repository, at a branch, a tag or a commit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Unpack
from urllib.parse import urlsplit

from skillcue.remote.failures import RefusedError, UnreachableError
from skillcue.remote.git_export import export_commit
from skillcue.remote.git_program import GitProgram, without_credentials
from skillcue.remote.mirror import Fetched, MirroredSource, SourceOptions, mirror_options
from skillcue.remote.paths import checked_subdirectory
from skillcue.remote.store import Last
from skillcue.remote.tree import TreeWriter
from skillcue_hooks.errors import ConfigurationError

__all__ = ["GitSource"]

_PROTOCOLS = {"https": "https:ssh", "ssh": "https:ssh", "file": "file"}
"""What may be used for an address; a setting of the user may turn one of the first two into the
other (``insteadOf``)."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]*")


class GitSource(MirroredSource):
    """A folder of a git repository at one commit.

    A full commit is a pin: it is compared with what came, and never fetched again. A branch or a
    tag is looked up again every `refresh` seconds. Needs the program ``git``, which finds its
    credentials as always. Submodules are left out; hooks and filters do not run.

    Args:
        url: ``https://``, ``ssh://`` or ``file://``.
        ref: Branch, tag or full commit; empty takes the default branch.
        subdirectory: Only this folder of it.
        options: `trust`, `label`, `cache`, `refresh`, `strict`, `fetch_limits`, `read_limits`: see
            `MirrorOptions`.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self, url: str, ref: str = "", subdirectory: str = "", **options: Unpack[SourceOptions]
    ) -> None:
        self._url = _checked_url(url)
        self._ref = _checked_ref(ref)
        self._subdirectory = checked_subdirectory(subdirectory)
        shown = without_credentials(url)
        pin = f"git:{ref}" if _COMMIT.fullmatch(ref) else None
        name = urlsplit(url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        inner = self._subdirectory.rpartition("/")[2]
        super().__init__(
            mirror_options(options),
            location=f"git+{shown}{'@' + ref if ref else ''}",
            identity=f"git {shown} {ref} {self._subdirectory}",
            label=name or "git",
            name=inner or name,
            pinned=pin,
        )

    def _fetch(self, last: Last | None) -> Fetched:
        limits = self.options.fetch_limits
        with self._store.scratch() as scratch:
            git = GitProgram(
                Path(scratch) / "repository",
                _PROTOCOLS[urlsplit(self._url).scheme],
                limits.seconds,
                limits.download_bytes,
            )
            git.run("init", "--quiet", "--bare", "--template=")
            wanted, commit = self._resolved(git)
            known = self._store.get(f"git:{commit}") if commit else None
            if known is not None:
                return Fetched(known)
            commit = self._brought(git, wanted)

            def fill(tree: TreeWriter) -> None:
                export_commit(git, commit, self._subdirectory, tree, limits)

            return Fetched(self._store.put(f"git:{commit}", fill, limits))

    def _resolved(self, git: GitProgram) -> tuple[str, str]:
        """What to ask for, and its commit where the server says it beforehand."""
        if self._pinned:
            return self._ref, self._ref
        names = _candidates(self._ref)
        listed = git.run("ls-remote", "--", self._url, *names)
        pairs = [line.split("\t") for line in listed.decode("utf-8", "replace").splitlines()]
        found = {pair[1]: pair[0] for pair in pairs if len(pair) == 2}
        for name in names:
            if name in found and not name.endswith("^{}"):
                return name, found.get(f"{name}^{{}}", found[name])
        raise UnreachableError(
            f"It has no branch or tag {self._ref!r}." if self._ref else "It holds no commit.",
            "Name a branch, a tag, or a full commit of 40 characters.",
        )

    def _brought(self, git: GitProgram, wanted: str) -> str:
        """The commit that was fetched."""
        git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--", self._url, wanted)
        commit = git.run("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").decode().strip()
        if self._pinned and commit != self._ref:
            raise RefusedError(
                f"Commit {self._ref} was asked for and {commit} came.", "Do not use this server."
            )
        return commit


def _candidates(ref: str) -> list[str]:
    """Full names that `ref` may mean, in git's order, with what an annotated tag points to."""
    if not ref or ref == "HEAD":
        return ["HEAD"]
    if ref.startswith("refs/"):
        return [ref, f"{ref}^{{}}"]
    return [f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}"]


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in _PROTOCOLS or "::" in url.partition("/")[0]:
        raise ConfigurationError(
            f"{without_credentials(url)!r} is no address of a git repository.",
            "Use https://, ssh:// or file://; others are refused.",
        )
    host = parts.hostname or ""
    if host.startswith("-") or any(not char.isprintable() or char.isspace() for char in url):
        raise ConfigurationError("The address of a git repository is unsafe.", "Correct it.")
    if parts.scheme == "file" and (host or not parts.path.strip("/")):
        raise ConfigurationError(
            f"{url!r} names no folder of this machine.", "Write file:///path/to/repository."
        )
    if parts.scheme != "file" and (not host or not parts.path.strip("/")):
        raise ConfigurationError(
            f"{without_credentials(url)!r} has no host or no path.",
            "Write https://host/owner/repository.git.",
        )
    if parts.path.startswith("/-"):
        raise ConfigurationError("The path of a git repository begins with '-'.", "Correct it.")
    return url


def _checked_ref(ref: str) -> str:
    if ref and (not _REF.fullmatch(ref) or ".." in ref or "@{" in ref or ref.endswith(".lock")):
        raise ConfigurationError(
            f"{ref!r} is no branch, tag or commit.",
            "Letters, digits and - _ . / are allowed, and it does not begin with '-'.",
        )
    return ref
