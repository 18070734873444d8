"""``skillcue next``: what would be suggested after which skill, and what would not, and why."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.library.protocols import Snapshot
from skillcue.successors.held_out import Evidence, Why
from skillcue.successors.model import Learned, fit, known_in
from skillcue.successors.settings import NextSettings
from skillcue.successors.suggestions import may_be_suggested
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

_VERDICTS: Mapping[Why, str] = {
    "better": "yes",
    "too-few": "too few",
    "not-better": "not above p",
    "seldom": "seldom",
    "ignored": "not taken",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """One skill that may follow another."""

    evidence: Evidence
    suggested: bool
    verdict: str
    reason: str


def run(args: Namespace) -> int:
    """Learn, and show what came of it."""
    if args.top < 1:
        raise ConfigurationError(f"--top is {args.top}.", "Show 1 row or more.")
    settings = _settings(args)
    with open_library(args) as library:
        snapshot = library.cue.snapshot()
        chosen = snapshot.resolve(args.name) if args.name else None
        learned = _learned(Path(args.events), settings, snapshot)
        rows = sorted(_rows(learned, snapshot, settings, chosen), key=_order)
        relations = _relations(snapshot, chosen)
    if args.json:
        write_json(_document(learned, rows, relations))
    else:
        _show(Screen(), rows, relations, args.top, reasons=chosen is not None)
    if learned.unknown:
        print_note(f"Skills of the history that the library has not: {len(learned.unknown)}.")
    return 0


def _settings(args: Namespace) -> NextSettings:
    given = {field.name: getattr(args, field.name, None) for field in fields(NextSettings)}
    return NextSettings(**{name: value for name, value in given.items() if value is not None})


def _learned(path: Path, settings: NextSettings, snapshot: Snapshot) -> Learned:
    cure = "Name the file that SkillCue(..., events=FILE) writes."
    if not path.is_file():
        raise ConfigurationError(f"There are no events in {path}: no such file.", cure)
    try:
        return fit(path, settings, known_in(snapshot))
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise ConfigurationError(f"The events {path} cannot be read: {error}.", cure) from error


def _rows(
    learned: Learned, snapshot: Snapshot, settings: NextSettings, chosen: Skill | None
) -> Iterator[_Row]:
    for after, several in learned.evidence.items():
        if chosen is not None and after != chosen.id:
            continue
        for evidence in several:
            skill = snapshot.get(evidence.then)
            refused = skill is None or not may_be_suggested(skill, snapshot, None)
            reason = "push must not offer it" if refused else _reason(evidence, settings)
            verdict = "not offered" if refused else _VERDICTS[evidence.why]
            yield _Row(evidence, evidence.why == "better" and not refused, verdict, reason)


def _order(row: _Row) -> tuple[bool, int, str, str]:
    return not row.suggested, -row.evidence.support, row.evidence.after, row.evidence.then


def _reason(evidence: Evidence, settings: NextSettings) -> str:
    q, p = _share(evidence.q), _share(evidence.p)
    if evidence.why == "too-few":
        return (
            f"followed {evidence.support} times, tried against search {evidence.trials} times; "
            f"{settings.min_support} needed"
        )
    if evidence.why == "not-better":
        surely = "surely " if evidence.q > evidence.p else ""
        return f"q {q} does not {surely}exceed p {p}"
    if evidence.why == "seldom":
        return f"follows {_share(evidence.share)} of all loads; {settings.least_share:g} needed"
    if evidence.why == "ignored":
        return f"shown {evidence.shown} times, taken {evidence.taken} times; p {p}"
    return f"q {q} exceeds p {p} by {_share(evidence.margin)} at least"


def _relations(snapshot: Snapshot, chosen: Skill | None) -> list[dict[str, str]]:
    skills = snapshot.skills if chosen is None else (chosen,)
    return [
        {"skill": skill.id, "says": said, "target": target}
        for skill in sorted(skills, key=lambda skill: skill.id)
        for said, target in snapshot.relations.of(skill.id)
    ]


def _document(
    learned: Learned, rows: Sequence[_Row], relations: Sequence[dict[str, str]]
) -> dict[str, Any]:
    return {
        "loads": learned.loads,
        "unknown": sorted(learned.unknown),
        "learned": [
            {**asdict(row.evidence), "suggested": row.suggested, "reason": row.reason}
            for row in rows
        ],
        "relations": list(relations),
    }


def _show(
    screen: Screen,
    rows: Sequence[_Row],
    relations: Sequence[dict[str, str]],
    top: int,
    *,
    reasons: bool,
) -> None:
    suggested = sum(row.suggested for row in rows)
    screen.show(f"Learned: {suggested:,} of {len(rows):,} steps would be suggested")
    cells = [
        (
            _name(row.evidence.after),
            _name(row.evidence.then),
            f"{row.evidence.support:,}",
            f"{row.evidence.trials:,}",
            f"{_share(row.evidence.q)} ({_share(row.evidence.q_low)}-{_share(row.evidence.q_high)})"
            if row.evidence.trials
            else "",
            _share(row.evidence.p) if row.evidence.trials else "",
            row.verdict,
        )
        for row in rows[:top]
    ]
    columns = ("after", "next", "followed", "tried", "q", "p", "suggested")
    if cells:
        screen.table(columns, cells, numeric="followed tried p")
    _more(screen, len(rows) - top)
    if reasons and cells:
        screen.heading("Why, or why not")
        screen.show(*(f"{_name(row.evidence.then)}: {row.reason}" for row in rows[:top]))
    if relations:
        screen.heading("What skill files say")
        shown = [(_name(r["skill"]), r["says"], _name(r["target"])) for r in relations[:top]]
        screen.table(("after", "says", "of"), shown)
        _more(screen, len(relations) - top)


def _more(screen: Screen, number: int) -> None:
    if number > 0:
        screen.show(f"and {number:,} more: --top, or --json for all")


def _name(skill_id: str) -> str:
    return skill_id.partition("@")[0]


def _share(share: float) -> str:
    """A share with two digits, as in papers: .41"""
    return f"{share:.2f}".replace("0.", ".", 1)
