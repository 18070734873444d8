"""Texts that name a source elsewhere; every one of them is untrusted, whatever it says.

======================================================  ===========================================
``git+https://host/repository.git@REF``                 `GitSource`; also ``git+ssh``, ``git+file``
``skills.zip``, ``.tar``, ``.tar.gz``, ``.tgz``         `ArchiveSource`; also ``file://``
``https://host/skills.zip#sha256=HEX``                  `ArchiveSource`, with its hash only
``sqlite:///skills.db?table=skills``                    `SqliteSource`; ``////`` begins at the root
``mcp+https://host/mcp``, ``mcp+http://127.0.0.1/mcp``  `McpSource`
======================================================  ===========================================

``#subdirectory=FOLDER`` takes a part of a repository or an archive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from skillcue.remote.git_program import without_credentials
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError
from skillcue_hooks.protocols import SkillSource

__all__ = ["open_spec"]

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")
_OPTIONS = re.compile(r"(?:[a-z0-9_]+=[^&#]*)(?:&[a-z0-9_]+=[^&#]*)*")
_OTHER_GIT = re.compile(r"(?:ssh://|git://|[\w.-]+@[\w.-]+:|ext::|fd::)")


def open_spec(spec: str, cache: Path | None) -> SkillSource | None:
    """The source that `spec` names, None where it is no text of this kind.

    Nothing is fetched yet.

    Args:
        spec: See the top of this module.
        cache: Folder that keeps what is fetched.

    Raises:
        ConfigurationError: The text is malformed, or asks for something that a text may not.
        LibraryNotFoundError: It names a file of this machine that does not exist.
    """
    if spec.startswith("git+"):
        return _git(spec, cache)
    if spec.startswith("mcp+"):
        return _mcp(spec, cache)
    if spec.startswith("sqlite:"):
        return _sqlite(spec, cache)
    if _OTHER_GIT.match(spec):
        raise ConfigurationError(
            f"{without_credentials(spec)!r} is not taken as it is.",
            "Write git+ssh://git@host/owner/repository.git or git+https://...; other transports "
            "are refused.",
        )
    return _archive(spec, cache)


def _git(spec: str, cache: Path | None) -> SkillSource:
    from skillcue.remote.git import GitSource

    address, options = _split(spec, "#", ("subdirectory",))
    scheme, _, rest = address.removeprefix("git+").partition("://")
    _no_query(address)
    host, slash, path = rest.partition("/")
    path, at, ref = path.rpartition("@") if "@" in path else (path, "", "")
    if at and not ref:
        raise ConfigurationError("There is nothing behind '@'.", "Name a branch, tag or commit.")
    return GitSource(
        f"{scheme}://{host}{slash}{path}", ref, options.get("subdirectory", ""), cache=cache
    )


def _archive(spec: str, cache: Path | None) -> SkillSource | None:
    address, options = _split(spec, "#", ("subdirectory", "sha256"), lenient=True)
    scheme = address.partition("://")[0] if "://" in address else ""
    if not scheme and not _is_archive(address):
        return None
    if scheme not in ("", "file", "https", "http"):
        return None
    if scheme and not _is_archive(address.partition("?")[0]):
        raise ConfigurationError(
            f"{without_credentials(spec)!r} is no archive.",
            "Archives end in .zip, .tar, .tar.gz or .tgz; a repository is git+https://...",
        )
    from skillcue.remote.archive import ArchiveSource

    if scheme == "file":
        address = _local_path(address)
    source = ArchiveSource(
        address, options.get("sha256", ""), options.get("subdirectory", ""), cache=cache
    )
    if scheme in ("", "file") and not source.is_there:
        raise LibraryNotFoundError(f"Archive {address!r} does not exist.", "Check the path.")
    return source


def _sqlite(spec: str, cache: Path | None) -> SkillSource:
    from skillcue.remote.database import SqliteSource

    address, options = _split(spec, "?", ("table",))
    if not address.startswith("sqlite:///") or len(address) <= len("sqlite:///"):
        raise ConfigurationError(
            f"{spec!r} names no database.",
            "Write sqlite:///folder/skills.db?table=skills, with four slashes for a path from "
            "the root.",
        )
    if not options.get("table"):
        raise ConfigurationError(f"{spec!r} names no table.", "Add ?table=skills.")
    path = unquote(address.removeprefix("sqlite:///"))
    source = SqliteSource(path, options["table"], cache=cache)
    if not source.is_there:
        raise LibraryNotFoundError(
            f"Database {path!r} does not exist.",
            "A path from the root has four slashes: sqlite:////srv/skills.db?table=skills.",
        )
    return source


def _mcp(spec: str, cache: Path | None) -> SkillSource:
    from skillcue.remote.mcp import McpSource

    if spec.startswith("mcp+stdio"):
        raise ConfigurationError(
            "A text may not name a command to run.",
            'Pass an object: McpSource(command=["server", "argument"]).',
        )
    return McpSource(spec.removeprefix("mcp+"), cache=cache)


def _split(
    spec: str, mark: str, known: tuple[str, ...], lenient: bool = False
) -> tuple[str, Mapping[str, str]]:
    """`spec` up to the last `mark`, and the options behind it.

    Args:
        spec: The text.
        mark: ``#`` or ``?``.
        known: Names of options there are.
        lenient: Without options the mark belongs to the address: it may stand in a file name.
    """
    address, found, text = spec.rpartition(mark)
    if not found:
        return spec, {}
    if not _OPTIONS.fullmatch(text):
        if lenient:
            return spec, {}
        raise ConfigurationError(
            f"{mark}{text} is not understood.", f"Write {mark}{'=...&'.join(known)}=..."
        )
    pairs = parse_qsl(text, keep_blank_values=True)
    for name, _ in pairs:
        _check_option(name, known)
    if len(dict(pairs)) < len(pairs):
        raise ConfigurationError(f"{mark}{text} says something twice.", "Leave one of them out.")
    return address, dict(pairs)


def _check_option(name: str, known: tuple[str, ...]) -> None:
    if name == "trust":
        raise ConfigurationError(
            "A text cannot make a source trusted.",
            'Build the source in code: GitSource(..., trust="trusted") and its like.',
        )
    if name not in known:
        raise ConfigurationError(
            f"A source has no option {name!r} here.", f"There is: {', '.join(known)}."
        )


def _no_query(address: str) -> None:
    if "?" in address:
        _split(address, "?", ())
        raise ConfigurationError("A repository has no options behind '?'.", "Leave them out.")


def _is_archive(address: str) -> bool:
    return address.casefold().endswith(ARCHIVE_SUFFIXES)


def _local_path(address: str) -> str:
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost") or not parts.path.strip("/"):
        raise ConfigurationError(
            f"{address!r} names no file of this machine.", "Write file:///path/to/skills.zip."
        )
    return unquote(parts.path)
