"""Offers made in vain: skills that a thread was offered and did not load.

A skill is declined when advice named it and the turn ended without any page of it being loaded.
After `TOO_OFTEN` of those it is demoted for the thread. What must be known for that outlives the
messages and the advice it is about, so it is kept among the records of the thread: some ten
characters a skill, the newest `DECLINED_BYTES` of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from skillcue_hooks import Hit

__all__ = ["DECLINED_BYTES", "DECLINED_KEY", "TOO_OFTEN", "Declines", "evidence_mass"]

DECLINED_KEY = "declined"
"""Where the records of a thread hold the declines; no turn has this key."""
DECLINED_BYTES = 160
"""Size of the declines in what is persisted for a thread, as JSON, bytes."""
TOO_OFTEN = 2
"""Declines after which a skill is demoted."""
COMEBACK = 2.0
"""A demoted skill is offered again at this multiple of the evidence it was declined with."""
LEAST_EVIDENCE = 1.0
"""Evidence it is taken to have been declined with at least: one word no other skill has."""

_ENTRY = re.compile(r"([\w-]{4})([\w-]{2})([0-5])([0-9]{1,4})", re.ASCII)
_MOST_TENTHS = 9_999


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is known of one skill.

    Attributes:
        turn: Tag of the turn that offered it last.
        count: How often it was declined.
        pending: That turn had not ended.
        tenths: The largest evidence it was offered with, in tenths.
    """

    turn: str
    count: int
    pending: bool
    tenths: int


class Declines:
    """The declines of one thread, followed turn by turn. Not safe to share between threads."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}  # by skill tag, the one offered last at the end

    @classmethod
    def of(cls, records: Any) -> Self:
        """What `records` hold; what is not well-formed is passed over."""
        declines = cls()
        value = records.get(DECLINED_KEY) if isinstance(records, Mapping) else None
        text = value[0] if isinstance(value, list | tuple) and len(value) == 1 else ""
        parts = text.split(" ") if isinstance(text, str) and len(text) <= DECLINED_BYTES else []
        for match in map(_ENTRY.fullmatch, parts):
            if match:
                state = int(match[3])
                entry = _Entry(match[2], state % 3, state >= 3, int(match[4]))
                declines._entries[match[1]] = entry
        return declines

    def offered(self, turn: str, evidence: Mapping[str, float]) -> None:
        """Take note of an offer.

        Args:
            turn: What tells the turn from others in the thread.
            evidence: The offered skills by id, best first, with the evidence for each.
        """
        tag = _tag(turn, 2)
        for skill_id, mass in evidence.items():
            skill = _tag(skill_id, 4)
            old = self._entries.get(skill)
            if old and old.turn == tag:
                continue  # the same offer, seen again
            tenths = max(old.tenths if old else 0, min(round(10 * mass), _MOST_TENTHS))
            self._entries.pop(skill, None)
            self._entries[skill] = _Entry(tag, old.count if old else 0, True, tenths)
        while self._entries and _size(self.record()) > DECLINED_BYTES:
            del self._entries[next(iter(self._entries))]

    def ended(self, turn: str, loaded: Iterable[str]) -> None:
        """Take note that `turn` is over.

        Offers of turns that are not in the messages any more are neither taken nor declined.

        Args:
            turn: As in `offered`.
            loaded: Ids of the skills that were loaded in it; for them all is forgotten.
        """
        for skill_id in loaded:
            self._entries.pop(_tag(skill_id, 4), None)
        tag = _tag(turn, 2)
        for skill, entry in list(self._entries.items()):
            if entry.pending:
                count = min(entry.count + (entry.turn == tag), TOO_OFTEN)
                self._entries[skill] = replace(entry, count=count, pending=False)

    def any_demoted(self) -> bool:
        """Some skill was declined too often."""
        return any(entry.count >= TOO_OFTEN for entry in self._entries.values())

    def demoted(self, ids: Mapping[str, str]) -> dict[str, float]:
        """The evidence that each demoted skill needs to be offered again, by id.

        Args:
            ids: What `tags` gives for the library.
        """
        return {
            ids[skill]: COMEBACK * max(entry.tenths / 10, LEAST_EVIDENCE)
            for skill, entry in self._entries.items()
            if entry.count >= TOO_OFTEN and skill in ids
        }

    def record(self) -> list[str]:
        """What to persist; empty when nothing is known."""
        text = " ".join(
            f"{skill}{entry.turn}{entry.count + 3 * entry.pending}{entry.tenths}"
            for skill, entry in self._entries.items()
        )
        return [text] if text else []

    @staticmethod
    def tags(ids: Collection[str]) -> dict[str, str]:
        """Ids by the tags that stand for them in a record."""
        return {_tag(skill_id, 4): skill_id for skill_id in ids}


def evidence_mass(hit: Hit) -> float:
    """How many rare words the message shares with the skill, in its head or in its body.

    In units of a word that no other skill has; 0 where the retriever does not measure it.
    """
    return max(hit.signals.get("evidence", 0.0), hit.signals.get("evidence_body", 0.0))


def _size(record: Sequence[str]) -> int:
    return len(json.dumps({DECLINED_KEY: list(record)}))


def _tag(text: str, chars: int) -> str:
    """A few characters that stand for `text`; two texts seldom have the same."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:3]).decode("ascii")[:chars]
