"""What may never happen in a request: a skill offered that an earlier part of it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skillcue.push.messages import ADVICE_OPEN

__all__ = ["check_no_repeat", "offered_names", "prefix_breaks"]

_CALL = re.compile(r'skill_load\(name="([^"]+)"\)')
_LOADED = re.compile(r"\[skill ([^@\s]+)@\S+ version [0-9a-f]{12} page 1/")


def offered_names(text: str) -> list[str]:
    """The skills that the advice in a user message names."""
    return _CALL.findall(text[text.index(ADVICE_OPEN) :]) if ADVICE_OPEN in text else []


def check_no_repeat(request: Sequence[tuple[str, str]]) -> list[str]:
    """The names that a request offers, oldest first; fails when one is at hand already.

    Args:
        request: (role, text) of each message; roles ``user`` and ``tool`` count.
    """
    at_hand: list[str] = []
    offered: list[str] = []
    for role, text in request:
        if role == "user":
            names = offered_names(text)
            again = [name for name in names if name in at_hand]
            assert not again, f"{again} offered again in {text[-300:]!r}"
            at_hand += names
            offered += names
        elif role == "tool":
            at_hand += _LOADED.findall(text)
    return offered


def prefix_breaks(wires: Iterable[str]) -> int:
    """How many requests do not begin with the one before."""
    breaks, before = 0, ""
    for wire in wires:
        breaks += not wire.startswith(before)
        before = wire
    return breaks
