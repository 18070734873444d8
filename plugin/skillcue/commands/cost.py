"""``skillcue cost``: what push cost in use, by mode, against a prompt that holds the whole library."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillcue.commands.bar import Bar
from skillcue.commands.budget import LibraryCost, library_cost
from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.traces.reading import Traces, read_traces
from skillcue.traces.spending import ModeSpending, spending
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

__all__ = ["run"]

BAR_COLUMNS = 30
"""Length of the longest bar, columns."""


def run(args: Namespace) -> int:
    """Sum up, compare, show."""
    with Bar(args.progress) as bar:
        traces = read_traces(Path(args.traces), bar.update)
    if not traces.turns:
        raise ConfigurationError(
            f"{args.traces} holds no decided turn.", "Record with SkillCue(..., traces=FILE)."
        )
    modes = spending(traces)
    library = _library(args)
    if args.json:
        write_json(_document(traces, modes, library))
    else:
        _show(Screen(), modes, library)
    _note(traces, modes, library)
    return 0


def _library(args: Namespace) -> LibraryCost | None:
    if not args.skills:
        return None
    with open_library(args) as library:
        return library_cost(library.cue.snapshot(), largest=0)


def _document(
    traces: Traces, modes: Sequence[ModeSpending], library: LibraryCost | None
) -> dict[str, Any]:
    return {
        "modes": [
            {**asdict(item), "tokens_per_turn": round(item.tokens_per_turn, 3)} for item in modes
        ],
        "loads_elsewhere": traces.loads_elsewhere,
        "library": library
        and {"descriptions": library.descriptions, "everything": library.everything},
    }


def _show(screen: Screen, modes: Sequence[ModeSpending], library: LibraryCost | None) -> None:
    columns = ("mode", "turns", "advised", "added", "loads", "calls", "in", "out", "money")
    rows = [_row(item) for item in modes]
    screen.table(columns, rows, numeric="turns advised added loads calls in out money")
    screen.heading("Tokens of a turn in the prompt")
    sizes = [(f"advice, {item.mode}, mean", item.tokens_per_turn) for item in modes]
    sizes += [(f"advice, {item.mode}, largest", item.largest) for item in modes]
    if library is not None:
        sizes.append(("all names and descriptions", library.descriptions))
        sizes.append(("all skills with their bodies", library.everything))
    longest = max(size for _, size in sizes)
    bars = [(label, f"{size:,.0f}", _bar(size, longest)) for label, size in sizes]
    screen.table(("what", "tokens", "bar"), bars, numeric="tokens")


def _row(item: ModeSpending) -> tuple[str, ...]:
    cost = item.cost
    tokens = (cost.input_tokens, cost.output_tokens)
    numbers = (item.turns, item.spoken, item.tokens, item.loads, cost.calls, *tokens)
    return (item.mode, *(f"{number:,}" for number in numbers), _money(cost))


def _money(cost: Usage) -> str:
    if cost.money is None:
        return "unknown"
    return f"{cost.money:,.2f}" if cost.money >= 1 else f"{cost.money:.6f}"


def _bar(size: float, longest: float) -> str:
    """A bar in proportion; what is above nothing has one column at least."""
    if not size:
        return ""
    return "#" * max(1, round(BAR_COLUMNS * size / longest))


def _note(traces: Traces, modes: Sequence[ModeSpending], library: LibraryCost | None) -> None:
    """What a reader of the numbers must know, on stderr."""
    shadowed = sum(turn.shadow for turn in traces.turns)
    if shadowed:
        print_note(f"{shadowed} turns were in shadow: their advice would have added that much.")
    if traces.loads_elsewhere:
        print_note(f"Loads that belong to no recorded turn, in no row: {traces.loads_elsewhere}.")
    if traces.skipped:
        print_note(f"{traces.skipped} lines are no record of this version and were skipped.")
    if any(item.cost.estimated for item in modes):
        print_note("Some tokens of the language model are estimated: it did not count them.")
    if any(item.cost.money is None for item in modes):
        print_note("Money is unknown where a call had no price.", "Pass SkillCue(prices=...).")
    if library is None:
        print_note("Nothing to compare with.", "Name the library: --skills FOLDER.")
