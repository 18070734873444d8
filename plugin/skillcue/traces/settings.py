"""What the user says about traces: where they go, how large they get, what is in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from skillcue_hooks.errors import ConfigurationError

__all__ = ["LEAST_BYTES", "TraceSettings", "TraceSink", "TraceSpec", "trace_settings"]

LEAST_BYTES = 4_096
"""Smallest `TraceSettings.max_bytes`, bytes: one long line must fit."""


@runtime_checkable
class TraceSink(Protocol):
    """Takes records instead of a file."""

    def write(self, record: Mapping[str, Any]) -> None:
        """Take one record: plain JSON values, see docs/reference/traces.md. Called from any thread.

        What it raises is logged once and goes no further.
        """
        ...


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """How traces are recorded.

    Attributes:
        to: The file, or an object with ``write(record)``.
        text: Record the words of the user as well. Off: no message text is recorded.
        max_bytes: Size at which the file is renamed to ``NAME.1``, over the one before it, and a
            new one is begun; bytes, 4,096 or more. Both together are what traces may take.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of range, or `to` is a folder.
    """

    to: str | os.PathLike[str] | TraceSink
    text: bool = False
    max_bytes: int = 64 * 1024 * 1024

    def __post_init__(self) -> None:
        if isinstance(self.to, str | os.PathLike):
            _check_path(Path(self.to).expanduser())
        elif not isinstance(self.to, TraceSink):
            raise ConfigurationError(
                f"traces go to a {type(self.to).__name__}.",
                "Pass a path, or an object with a method write(record).",
            )
        if not isinstance(self.text, bool):
            raise ConfigurationError(f"Trace setting text is {self.text!r}.", "Use True or False.")
        if not isinstance(self.max_bytes, int) or self.max_bytes < LEAST_BYTES:
            raise ConfigurationError(
                f"Trace setting max_bytes is {self.max_bytes!r}.",
                f"Use a whole number from {LEAST_BYTES}.",
            )


TraceSpec = str | os.PathLike[str] | TraceSink | TraceSettings


def trace_settings(spec: TraceSpec) -> TraceSettings:
    """What the argument ``traces`` of `SkillCue` means.

    Raises:
        ConfigurationError: It is no path, no sink and no settings.
    """
    return spec if isinstance(spec, TraceSettings) else TraceSettings(spec)


def _check_path(path: Path) -> None:
    if not path.name or path.is_dir():
        raise ConfigurationError(f"traces is {str(path)!r}.", "Name a file, such as traces.jsonl.")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(
            f"Traces cannot be written to {path}: there is no such folder.",
            "Make the folder first.",
        )
