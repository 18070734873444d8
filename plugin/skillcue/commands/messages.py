"""Errors, notes and log records on stderr, each on lines of its own, with the cure below."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["print_error", "print_note", "readable_logs"]


def print_error(message: str, cure: str) -> None:
    """``error: message``, and what to do about it on the next line."""
    _print("error", message, cure)


def print_note(message: str, cure: str = "") -> None:
    """``note: message``: something to know that does not change the outcome."""
    _print("note", message, cure)


@contextmanager
def readable_logs(*, tracebacks: bool) -> Iterator[None]:
    """Show warnings of skillcue as notes; without a handler Python would print whole tracebacks.

    Args:
        tracebacks: Show them all the same.
    """
    logger = logging.getLogger("skillcue")
    handler = _Notes(tracebacks)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


class _Notes(logging.Handler):
    def __init__(self, tracebacks: bool) -> None:
        super().__init__(logging.WARNING)
        self._tracebacks = tracebacks

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record) if self._tracebacks else record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not self._tracebacks and repr(error) not in text:
            text = f"{text} ({type(error).__name__}: {error})"
        _print("warning", text, "")


def _print(kind: str, message: str, cure: str) -> None:
    from skillcue.library.characters import clean  # pulls in unicodedata; `--help` needs none

    indent = " " * (len(kind) + 2)
    lines = [part for text in (message, cure) for part in clean(text).text.splitlines() if part]
    print(f"{kind}: " + f"\n{indent}".join(lines), file=sys.stderr)
