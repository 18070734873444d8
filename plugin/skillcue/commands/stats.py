"""``skillcue stats``: what agents were shown, what they read, and what they did not find."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skillcue.commands.budget import LibraryCost, library_cost
from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.commands.stats_page import render_stats
from skillcue.pages.render import check_writable, write_whole
from skillcue.telemetry.reading import read_events
from skillcue.telemetry.stats import ModeStats, SkillStats, Stats, sum_up
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

__all__ = ["run", "since_when"]

BAR_COLUMNS = 20
"""Length of the longest bar, columns."""
_UNITS = {"h": 3_600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class _Held:
    """What the library holds now."""

    cost: LibraryCost
    ids: tuple[str, ...]


def run(args: Namespace) -> int:
    """Read, sum up, show."""
    if args.top < 1:
        raise ConfigurationError(f"--top is {args.top}.", "Show 1 row or more.")
    check_writable(args.html)
    stats = sum_up(read_events(Path(args.events), since_when(args.since, time.time())))
    if not stats.last:
        raise ConfigurationError(
            f"{args.events} holds no event{' of that time' if args.since else ''}.",
            "Record with SkillCue(..., events=FILE)"
            + (", or leave --since out." * bool(args.since)),
        )
    held = _held(args)
    if args.html:
        write_whole(args.html, render_stats(_document(stats, held)))
    if args.json:
        write_json(_document(stats, held))
    else:
        _show(Screen(), stats, held, args.top)
    _note(stats, held)
    return 0


def since_when(text: str | None, now: float) -> float:
    """What ``--since`` says, as seconds since 1970; 0 for None.

    Args:
        text: A span (``36h``, ``7d``, ``2w``) or a moment in ISO 8601, UTC where it names no zone.
        now: Seconds since 1970.

    Raises:
        ConfigurationError: It is neither.
    """
    if text is None:
        return 0.0
    span = re.fullmatch(r"(\d{1,6})([hdw])", text)
    if span:
        return now - int(span[1]) * _UNITS[span[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(
            f"--since is {text!r}.", "Give a span such as 24h, 7d or 2w, or a date: 2026-01-31."
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _held(args: Namespace) -> _Held | None:
    if not args.skills:
        return None
    with open_library(args) as library:
        snapshot = library.cue.snapshot()
        ids = tuple(skill.id for skill in snapshot.library.skills)
        return _Held(library_cost(snapshot, largest=0), ids)


def _never(stats: Stats, held: _Held) -> list[str]:
    """Skills of the library that nobody read, by id."""
    used = {skill.skill for skill in stats.skills if skill.loads or skill.loaded_after}
    return sorted(set(held.ids) - used)


def _saved(used: int, turns: int, held: _Held | None) -> dict[str, int]:
    """What a prompt with the whole library would have added in these turns, less what we added."""
    if held is None:
        return {}
    return {
        "saved_against_descriptions": turns * held.cost.descriptions - used,
        "saved_against_everything": turns * held.cost.everything - used,
    }


def _document(stats: Stats, held: _Held | None) -> dict[str, Any]:
    return {
        "first": _iso(stats.first),
        "last": _iso(stats.last),
        "sessions": stats.sessions,
        "turns": stats.turns,
        "shadow": stats.shadow,
        "loads_elsewhere": stats.loads_elsewhere,
        "tokens": stats.tokens,
        "modes": [
            {**asdict(mode), "tokens": mode.tokens, **_saved(mode.tokens, mode.turns, held)}
            for mode in stats.modes
        ],
        "skills": [{**asdict(skill), "ignored": skill.ignored} for skill in stats.skills],
        "missed": [{**asdict(miss), "last": _iso(miss.last)} for miss in stats.missed],
        "library": held
        and {
            "skills": len(held.ids),
            "descriptions": held.cost.descriptions,
            "everything": held.cost.everything,
            **_saved(stats.tokens, stats.turns, held),
            "never_read": _never(stats, held),
        },
    }


def _show(screen: Screen, stats: Stats, held: _Held | None, top: int) -> None:
    known = f", {stats.sessions:,} conversations" if stats.sessions else ""
    screen.show(f"{_iso(stats.first)} to {_iso(stats.last)}: {stats.turns:,} turns{known}")
    screen.heading("What agents did, by mode")
    _numbers(
        screen,
        stats.modes,
        ("turns", "advised", "followed", "unadvised", "lookups", "missed", "loads"),
    )
    if any(mode.cost.calls for mode in stats.modes):
        screen.heading("What language models took, by mode")
        costs = [(_name(mode), *_cost(mode.cost)) for mode in stats.modes if mode.cost.calls]
        screen.table(("mode", "calls", "in", "out", "money"), costs, numeric="calls in out money")
    screen.heading("Skills")
    _show_skills(screen, stats.skills[:top])
    _more(screen, len(stats.skills) - top)
    if stats.missed:
        screen.heading("Lookups that gave nothing")
        misses = [
            (f"{miss.count:,}", miss.why, miss.text or "(words are not stored)")
            for miss in stats.missed[:top]
        ]
        screen.table(("times", "why", "query"), misses, numeric="times")
        _more(screen, len(stats.missed) - top)
    screen.heading("Tokens in prompts")
    _show_tokens(screen, stats, held)
    if held is not None:
        never = _never(stats, held)
        screen.heading(f"Never read: {len(never):,} of {len(held.ids):,} skills")
        screen.show(*never[:top])
        _more(screen, len(never) - top)


def _numbers(screen: Screen, modes: Sequence[ModeStats], columns: Sequence[str]) -> None:
    rows = [(_name(mode), *(f"{getattr(mode, column):,}" for column in columns)) for mode in modes]
    screen.table(("mode", *columns), rows, numeric=" ".join(columns))


def _show_skills(screen: Screen, skills: Sequence[SkillStats]) -> None:
    longest = max((skill.loads for skill in skills), default=0)
    names = Counter(skill.skill.partition("@")[0] for skill in skills)
    rows = []
    for skill in skills:
        name = skill.skill.partition("@")[0]
        numbers = (skill.offered, skill.ignored, skill.found, skill.loads)
        shown = name if names[name] == 1 else skill.skill
        rows.append((shown, *(f"{number:,}" for number in numbers), _bar(skill.loads, longest)))
    columns = ("skill", "offered", "ignored", "found", "loads", "bar")
    screen.table(columns, rows, numeric="offered ignored found loads")


def _show_tokens(screen: Screen, stats: Stats, held: _Held | None) -> None:
    parts = ("advice_tokens", "lookup_tokens", "load_tokens", "tokens")
    rows = []
    for mode in stats.modes:
        saved = _saved(mode.tokens, mode.turns, held).values()
        numbers = (*(getattr(mode, part) for part in parts), *saved)
        rows.append((_name(mode), *(f"{number:,}" for number in numbers)))
    columns = ("advice", "lists", "read", "all", *(("saved/names", "saved/bodies") if held else ()))
    screen.table(("mode", *columns), rows, numeric=" ".join(columns))
    if held is None or not stats.turns:
        return
    sizes = (
        ("skillcue", stats.tokens / stats.turns),
        ("all names and descriptions", held.cost.descriptions),
        ("all skills with their bodies", held.cost.everything),
    )
    longest = max(size for _, size in sizes)
    bars = [(name, f"{size:,.0f}", _bar(size, longest)) for name, size in sizes]
    screen.show("")
    screen.table(("a turn on average", "tokens", "bar"), bars, numeric="tokens")


def _more(screen: Screen, number: int) -> None:
    if number > 0:
        screen.show(f"and {number:,} more: --top, or --json for all")


def _name(mode: ModeStats) -> str:
    return mode.mode or "(not known)"


def _cost(cost: Usage) -> tuple[str, ...]:
    money = "unknown" if cost.money is None else f"{cost.money:,.6f}"
    return (f"{cost.calls:,}", f"{cost.input_tokens:,}", f"{cost.output_tokens:,}", money)


def _note(stats: Stats, held: _Held | None) -> None:
    """What a reader of the numbers must know, on stderr."""
    if stats.shadow:
        print_note(f"{stats.shadow} turns were in shadow: their advice was not shown.")
    failed = sum(mode.failed for mode in stats.modes)
    if failed:
        print_note(f"Push failed {failed} times: the log of skillcue.push says why.")
    if stats.loads_elsewhere:
        print_note(f"Loads that belong to no turn, in no row by mode: {stats.loads_elsewhere}.")
    if held is None:
        print_note("Name the library to see savings and what was never read: --skills FOLDER.")


def _bar(size: float, longest: float) -> str:
    """A bar in proportion; what is above nothing has one column at least."""
    return "#" * max(1, round(BAR_COLUMNS * size / longest)) if size > 0 else ""


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
