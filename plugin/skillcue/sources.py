"""What the user passes as sources, turned into `SkillSource` objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from skillcue.library.source import FolderSource
from skillcue_hooks.contracts import Trust
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError
from skillcue_hooks.manager import SkillcuePluginManager
from skillcue_hooks.protocols import SkillSource

__all__ = ["SourceSpec", "open_sources"]

SourceSpec = str | os.PathLike[str] | SkillSource


def open_sources(
    specs: SourceSpec | Iterable[SourceSpec],
    *,
    trust: Trust,
    strict: bool,
    plugins: SkillcuePluginManager,
) -> tuple[SkillSource, ...]:
    """The sources, earlier ones taking precedence.

    Args:
        specs: One source or several: a folder, a `SkillSource`, or a text for a plugin's
            ``skillcue_open_source``.
        trust: Trust level of the folders.
        strict: Reject files that are not clean.
        plugins: The manager.

    Raises:
        LibraryNotFoundError: A folder does not exist and no plugin opens the text.
        ConfigurationError: There is no source at all.
    """
    several: Sequence[SourceSpec]
    if isinstance(specs, str | os.PathLike | SkillSource):
        several = [specs]
    else:
        several = list(specs)
    if not several:
        raise ConfigurationError("There is no skill source.", "Pass a folder with SKILL.md files.")
    return tuple(_open(spec, trust, strict, plugins) for spec in several)


def _open(
    spec: SourceSpec, trust: Trust, strict: bool, plugins: SkillcuePluginManager
) -> SkillSource:
    if isinstance(spec, SkillSource):
        return spec
    folder = FolderSource(Path(spec), trust=trust, strict=strict)
    try:
        folder.check()
    except LibraryNotFoundError:
        # Not isolated: a source that fails to open is a configuration mistake to be seen.
        opened = plugins.hook.skillcue_open_source(spec=os.fspath(spec))
        if opened is None:
            raise
        if not isinstance(opened, SkillSource):
            raise ConfigurationError(
                f"A plugin opened {os.fspath(spec)!r} as {type(opened).__name__}.",
                "skillcue_open_source must answer a SkillSource or None.",
            ) from None
        return opened
    return folder
