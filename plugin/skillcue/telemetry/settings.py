"""What the user says about the store of events: where it is, what is in it, how large it gets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from skillcue_hooks.errors import ConfigurationError

__all__ = ["LEAST_BYTES", "EventSettings", "EventSpec", "event_settings"]

LEAST_BYTES = 262_144
"""Smallest `EventSettings.max_bytes`, bytes."""
_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class EventSettings:
    """How events are stored.

    Attributes:
        path: The SQLite file; its folder must exist.
        text: Store the words of the user and of queries as well. Off: no message text is stored.
        max_bytes: Size of what is stored, bytes, 262,144 or more: beyond it the oldest tenth goes.
        max_age_days: Events that are older go, days, above 0.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of range, or `path` is a folder
            or another kind of file.
    """

    path: str | os.PathLike[str]
    text: bool = False
    max_bytes: int = 64 * 1024 * 1024
    max_age_days: float = 90.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ConfigurationError(
                f"events is a {type(self.path).__name__}.", "Pass a path, or EventSettings(path)."
            )
        _check_path(self.file)
        if not isinstance(self.text, bool):
            raise ConfigurationError(f"Event setting text is {self.text!r}.", "Use True or False.")
        if not _is_number(self.max_bytes, int) or self.max_bytes < LEAST_BYTES:
            raise ConfigurationError(
                f"Event setting max_bytes is {self.max_bytes!r}.",
                f"Use a whole number from {LEAST_BYTES}.",
            )
        if not _is_number(self.max_age_days, int | float) or not self.max_age_days > 0:
            raise ConfigurationError(
                f"Event setting max_age_days is {self.max_age_days!r}.", "Use a number above 0."
            )

    @property
    def file(self) -> Path:
        """`path`, with ``~`` resolved."""
        return Path(self.path).expanduser()


EventSpec = str | os.PathLike[str] | EventSettings


def event_settings(spec: EventSpec) -> EventSettings:
    """What the argument ``events`` of `SkillCue` means.

    Raises:
        ConfigurationError: It is no path and no settings.
    """
    return spec if isinstance(spec, EventSettings) else EventSettings(spec)


def _is_number(value: object, kind: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)  # type: ignore[arg-type]


def _check_path(path: Path) -> None:
    if not path.name or path.is_dir():
        raise ConfigurationError(f"events is {str(path)!r}.", "Name a file, such as events.db.")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(
            f"Events cannot be stored in {path}: there is no such folder.", "Make the folder first."
        )
    try:
        with path.open("rb") as file:
            start = file.read(len(_HEADER))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigurationError(
            f"Events cannot be stored in {path}: {error.strerror or error}.", "Name another file."
        ) from error
    if start and start != _HEADER:
        raise ConfigurationError(f"{path} is no SQLite file.", "Name another file for events.")
