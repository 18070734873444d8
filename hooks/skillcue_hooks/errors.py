"""Every error skillcue raises on purpose; each one carries its cure.

::

    SkillcueError
    ├── ConfigurationError (ValueError)       wrong set-up, raised before any model call
    │   ├── UnknownModeError                  no retriever is registered under that name
    │   ├── UnknownSettingError               a keyword that no setting has
    │   ├── LibraryNotFoundError              a source that does not exist or cannot be read
    │   ├── AttachError                       `cue.attach` cannot insert itself into the target
    │   ├── PluginError                       a plugin breaks the contract of a hook
    │   └── StrictLibraryError                `strict=True` and a skill file is not clean
    ├── MissingExtraError (ImportError)       an optional dependency is not installed
    ├── LanguageModelError (RuntimeError)     a model gave no answer; modes fall back
    ├── IndexUnavailableError (ConnectionError)  a shared index cannot be reached
    └── SkillLookupError (LookupError)        pull: the name or file does not resolve
        ├── SkillNotFoundError
        ├── AmbiguousNameError
        └── SkillFileError
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "AmbiguousNameError",
    "AttachError",
    "ConfigurationError",
    "IndexUnavailableError",
    "LanguageModelError",
    "LibraryNotFoundError",
    "MissingExtraError",
    "PluginError",
    "SkillFileError",
    "SkillLookupError",
    "SkillNotFoundError",
    "SkillcueError",
    "StrictLibraryError",
    "UnknownModeError",
    "UnknownSettingError",
    "closest_names",
]

IDS_SHOWN = 10
"""Ids that one error names at most."""


def closest_names(name: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Names that look like `name`, best first, compared without case.

    The order of `known` does not matter; of names that differ only in case, one is returned.

    Args:
        name: What was asked for.
        known: The names that exist.
        limit: At most this many are returned; 0 returns none.
    """
    if limit < 1:
        return ()
    by_folded: dict[str, str] = {}
    for candidate in sorted(known):
        by_folded.setdefault(candidate.casefold(), candidate)
    folded = name.casefold()
    near = difflib.get_close_matches(folded, by_folded, n=limit, cutoff=0.5)
    inside = [c for c in sorted(by_folded) if len(folded) > 2 and folded in c and c not in near]
    return tuple(by_folded[c] for c in [*near, *inside][:limit])


class SkillcueError(Exception):
    """Base of all skillcue errors; they can be copied and sent to another process.

    Attributes:
        message: What is wrong.
        cure: What to do about it; printed behind the message.
    """

    def __init__(self, message: str, cure: str = "") -> None:
        self.message = message
        self.cure = cure
        super().__init__(f"{message} {cure}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are unpickled by calling the class with `args`, the finished message; the
        # classes below are built from other values, which are kept in `__dict__`.
        return _restored, (type(self), self.args, self.__dict__)


class ConfigurationError(SkillcueError, ValueError):
    """The set-up is wrong; raised early, never in the middle of a turn."""


class UnknownModeError(ConfigurationError):
    """No retriever is registered under the requested mode."""

    def __init__(self, mode: str, known: Iterable[str]) -> None:
        self.mode = mode
        self.known = tuple(sorted(known))
        near = closest_names(mode, self.known, limit=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        super().__init__(
            f"Unknown skill mode {mode!r}.",
            f"{hint}Available modes: {', '.join(self.known) or 'none'}. A plugin adds one with "
            "the skillcue_register_retrievers hook.",
        )


class UnknownSettingError(ConfigurationError):
    """A keyword argument that no setting has."""

    def __init__(self, setting: str, known: Iterable[str]) -> None:
        self.setting = setting
        names = sorted(known)
        near = closest_names(setting, names, limit=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Settings: {', '.join(names) or 'none'}."
        super().__init__(f"Unknown setting {setting!r}.", hint)


class LibraryNotFoundError(ConfigurationError):
    """A skill source does not exist, or cannot be read at all."""


class AttachError(ConfigurationError):
    """`cue.attach(target)` cannot insert skillcue into this target."""


class PluginError(ConfigurationError):
    """A plugin breaks the contract of a hook (misspelt name, coroutine, wrong arguments)."""


class StrictLibraryError(ConfigurationError):
    """`strict=True` was asked for and at least one skill file is not clean."""


class MissingExtraError(SkillcueError, ImportError):
    """An optional dependency is missing.

    Attributes:
        package: The distribution that is not installed.
        extra: The extra of skillcue that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{package} is not installed.", f'Install it with: pip install "skillcue[{extra}]"'
        )


class LanguageModelError(SkillcueError, RuntimeError):
    """A language model gave no answer: out of reach, refused, too late, or over a budget."""


class IndexUnavailableError(SkillcueError, ConnectionError):
    """A shared index cannot be reached, or did not answer in time."""


class SkillLookupError(SkillcueError, LookupError):
    """A skill or a file beside it does not resolve; the message is fit for a model to read."""


class SkillNotFoundError(SkillLookupError):
    """No skill has that name or id.

    Attributes:
        name: What was asked for.
        closest: Up to three names that exist and look similar.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.closest = closest_names(name, known)
        cure = (
            f"Closest names: {', '.join(self.closest)}."
            if self.closest
            else "Search for it with skill_lookup, or list the library with skill_list."
        )
        super().__init__(f"No skill is named {name!r}.", cure)


class AmbiguousNameError(SkillLookupError):
    """Several skills that were composed for tasks have that name, and no skill of the library has.

    Attributes:
        name: What was asked for.
        ids: Their ids, sorted; the message holds the first ten.
    """

    def __init__(self, name: str, ids: Iterable[str]) -> None:
        self.name = name
        self.ids = tuple(sorted(ids))
        shown = ", ".join(self.ids[:IDS_SHOWN])
        more = f" and {len(self.ids) - IDS_SHOWN} more" if len(self.ids) > IDS_SHOWN else ""
        super().__init__(
            f"{len(self.ids)} refined skills of different tasks are named {name!r}.",
            f"Use the id of the one that is meant: {shown}{more}.",
        )


class SkillFileError(SkillLookupError):
    """A file argument that does not exist beside the skill, or lies outside its folder.

    Attributes:
        local: The cure names a place on this machine, which is nothing for others.
    """

    def __init__(self, message: str, cure: str = "", *, local: bool = False) -> None:
        super().__init__(message, cure)
        self.local = local


def _restored(
    kind: type[SkillcueError], args: tuple[Any, ...], state: Mapping[str, Any]
) -> SkillcueError:
    error = kind.__new__(kind, *args)
    # Past the constructors of this module, to the one of the built-in exception behind them.
    super(SkillcueError, error).__init__(*args)
    error.__dict__.update(state)
    return error
