"""What the user passes as sources, turned into `SkillSource` objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from skillcue.library.source import FolderSource
from skillcue_hooks.contracts import Trust
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError
from skillcue_hooks.manager import SkillcuePluginManager
from skillcue_hooks.protocols import SkillSource

__all__ = ["SourceSpec", "open_sources"]

_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://")

SourceSpec = str | os.PathLike[str] | SkillSource


def open_sources(
    specs: SourceSpec | Iterable[SourceSpec],
    *,
    trust: Trust,
    strict: bool,
    plugins: SkillcuePluginManager,
    cache_dir: Path | None = None,
) -> tuple[SkillSource, ...]:
    """The sources, earlier ones taking precedence.

    Args:
        specs: One source or several: a folder, a `SkillSource`, or a text for a plugin's
            ``skillcue_open_source``.
        trust: Trust level of the folders.
        strict: Reject files that are not clean.
        plugins: The manager.
        cache_dir: Folder for what plugins fetch.

    Raises:
        LibraryNotFoundError: A folder does not exist and no plugin opens the text, or its scheme.
        ConfigurationError: There is no source at all, or something that cannot be one.
    """
    several: Sequence[SourceSpec]
    if isinstance(specs, str | os.PathLike | SkillSource):
        several = [specs]
    elif isinstance(specs, Iterable) and not isinstance(specs, bytes | Mapping):
        several = list(specs)
    else:
        raise _no_source(specs)
    if not several:
        raise ConfigurationError("There is no skill source.", "Pass a folder with SKILL.md files.")
    return tuple(_open(spec, trust, strict, plugins, cache_dir) for spec in several)


def _open(
    spec: SourceSpec,
    trust: Trust,
    strict: bool,
    plugins: SkillcuePluginManager,
    cache_dir: Path | None,
) -> SkillSource:
    if isinstance(spec, SkillSource):
        return spec
    if not isinstance(spec, str | os.PathLike) or not isinstance(os.fspath(spec), str):
        raise _no_source(spec)
    if not os.fspath(spec) or "\0" in os.fspath(spec):
        raise ConfigurationError(
            f"{os.fspath(spec)!r} is no skill source.", 'Pass a folder; "." is the present one.'
        )
    text = os.fspath(spec)
    folder = FolderSource(Path(spec), trust=trust, strict=strict)
    if _is_source(folder, text):
        return folder
    # Not isolated: a source that fails to open is a configuration mistake to be seen.
    opened = plugins.hook.skillcue_open_source(spec=text, cache_dir=cache_dir)
    if opened is None:
        address = _ADDRESS.match(text)
        if address:
            raise _no_opener(text, address["scheme"])
        folder.check()  # says what is missing
        raise LibraryNotFoundError(
            f"{text!r} does not exist as it is written.", "Write the path of the folder itself."
        )
    if not isinstance(opened, SkillSource):
        raise ConfigurationError(
            f"A plugin opened {text!r} as {type(opened).__name__}.",
            "skillcue_open_source must answer a SkillSource or None.",
        )
    return opened


def _is_source(folder: FolderSource, text: str) -> bool:
    """Whether `text` is the path of a folder or of a skill.

    A text such as ``git+file:///x/../../y`` leads to a folder once its dots are resolved, and that
    folder would be trusted: so it must exist as it is written.
    """
    if not os.path.exists(os.path.expanduser(text)):
        return False
    try:
        folder.check()
    except LibraryNotFoundError:
        return False
    return True


def _no_source(spec: object) -> ConfigurationError:
    return ConfigurationError(
        f"A {type(spec).__name__} is no skill source.",
        "Pass a folder, a SkillSource object, a text that a plugin opens, or several of them.",
    )


def _no_opener(spec: str, scheme: str) -> LibraryNotFoundError:
    from skillcue.remote.git_program import without_credentials  # only where used

    return LibraryNotFoundError(
        f"No source opens {scheme}:// ({without_credentials(spec)}).",
        "A text is a folder, an archive, or begins with git+https://, git+ssh://, git+file://, "
        "https:// (an archive), file:// (an archive), sqlite:///, mcp+https:// or mcp+http://. "
        "Others are objects such as DatabaseSource(connect, query), or plugins with the hook "
        "skillcue_open_source.",
    )
