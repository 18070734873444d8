"""The part of docs/benchmarks.md about push, and its plot, from the lines of bench_push.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from docstrings import table
from line_plot import share_plot

__all__ = ["push_plot", "push_section"]

Row = dict[str, Any]

GROUPS = {"need": "need a skill", "given": "have it already", "none": "need none"}
AUC_AIM = 0.9
AIMS = {0.05: (0.08, 0.45), 0.1: (0.13, 0.7)}
"""By `max_false_push`: most false pushes, and least needed turns advised."""
RIGHT_AIM = 0.75
"""Least share of a right skill first, of the needed turns that are advised."""

APART = """The constants of the gate come from other conversations over other skills; these ones served to
choose between designs, so expect a little worse."""
FITTED = (
    "**The constants of the gate were fitted on these: their figures promise nothing for others.**"
)

INTRO = """## When push speaks

{conversations} labelled conversations over {skills} skills: {turns} user turns, of which {need} need a skill,
{given} have theirs already and {none} need none.
{origin}
Commit {commit}, {date}; what is counted is what [`skillcue eval`](how-to/evaluate-on-your-data.md#measure-push)
counts. All intervals are 95%, bootstrapped over conversations.

### Turns that need a skill against turns that need none

AUC is the chance that a turn that needs a skill scores higher than one that does not; .5 is a coin. "At
5%" is the share of the needed turns that get advice where at most 5% of the others do, if the threshold
could be chosen afterwards; in brackets how often the first skill is a right one. Skills count as supplied
where they were first needed, as the labels assume.

"""

SETTING = """Aimed at were 45% at 5% and 70% at 10%. No threshold was chosen from these curves: what the gate does
by itself is next.

### At a setting

The advisor as it is, with its own advice in the conversation. A needed turn is *at hand* if push had
named a right skill earlier, as a runner-up say: it is no unanswered need. *Advised* is of the other needed
turns; *of all needed* takes those at hand for silent ones. Right first and right offered are of the
advised ones. The last two columns are of the turns whose skill was given before: it is named again, or for
the first time (late), or another skill is.

"""

KINDS = """### By kind of turn

Turns with advice; of those that need a skill, how many with a right one first, and how many had it at hand.

"""

REQUESTS = """### Single requests

{turns} requests, each for another skill, none in its words: every one needs a skill, so that silence is a
miss. Right first is of the advised ones.

"""

AIMED = """### What was aimed at

AUC at least .90; with `max_false_push` 0.05 at most 8% false pushes and at least 45% of the needed turns
advised, with 0.1 at most 13% and at least 70%; a right skill first on at least 75% of the advised ones.
Turns at hand are left out, as above.

"""


def push_section(rows: Iterable[Row], plot: str) -> str:
    """Markdown of the section; empty without measurements.

    Args:
        rows: Of all benchmarks.
        plot: File name of the plot.
    """
    found = _by_what(rows)
    data = {row["set"]: row for row in found.get("push data", ())}
    talks = data.get("conversations")
    if talks is None:
        return ""
    settings = found["push setting"]
    parts = [
        INTRO.format(**talks, origin=FITTED if talks["fitted_on"] else APART),
        _separation(found["push"], found["push by length"][0]),
        f"![Needed turns advised against false pushes]({plot})\n\n",
        SETTING,
        _at_setting(settings),
        KINDS,
        *(_kinds(settings, allowed) for allowed in AIMS),
    ]
    if "push requests" in found:
        parts += [REQUESTS.format(**data["requests"]), _requests(found["push requests"])]
    parts += [AIMED, _aims(found["push"], settings), _short_of_all(settings)]
    return "".join(parts)


def push_plot(rows: Iterable[Row]) -> str:
    """SVG of the trade-off curve of every mode."""
    lines = {
        _name(row): [(0.0, 0.0), *((false, advised) for false, advised, _right in row["curve"])]
        for row in _by_what(rows).get("push", ())
    }
    return share_plot(lines, "turns that need nothing and get advice", "needed turns advised")


def _by_what(rows: Iterable[Row]) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.get("what", ""), []).append(row)
    return found


def _separation(rows: Sequence[Row], length: Row) -> str:
    shares = [point["false"] for point in rows[0]["at"]]
    lines = [
        (
            _mode(row),
            row["encoder"],
            _area(row["auc"]),
            *(f"{_share(p['advised'])} ({_percent(p['right_first'][0])})" for p in row["at"]),
        )
        for row in rows
    ]
    lines.append(("words of the turn alone", "-", _area(length["auc"]), *("-" for _ in shares)))
    return table(("mode", "encoder", "AUC", *(f"at {_percent(s)}" for s in shares)), lines) + "\n"


def _at_setting(rows: Sequence[Row]) -> str:
    lines = [
        (
            _name(row),
            f"{row['max_false_push']:g}",
            _share(row["false_pushes"], 1),
            _share(row["advised"]),
            _percent(_advised_of_all(row)),
            _share(row["right_first"]),
            _share(row["right_offered"]),
            _at_hand(row),
            _share(row["given_repeats"]),
            f"{_number(row['given_late'])}, {_number(row['given_others'])}",
        )
        for row in rows
    ]
    head = (
        "mode",
        "`max_false_push`",
        "false pushes",
        "advised",
        "of all needed",
        "right first",
        "right offered",
        "at hand",
        "repeats",
        "late, others",
    )
    return table(head, lines) + "\n"


def _advised_of_all(row: Row) -> float:
    share, _low, _high, n = row["advised"]
    return float(share * n / row["at_hand"][3])


def _at_hand(row: Row) -> str:
    """How many, and on how many of those push was not silent but named others."""
    wrong = _number(row["at_hand_others"])
    among = f"{_number(row['at_hand'])} of {row['at_hand'][3]}"
    return among + (f", others named on {wrong}" if wrong else "")


def _number(share: Sequence[Any]) -> int:
    """The turns that a share counts."""
    return round(share[0] * share[3]) if share[3] else 0


def _kinds(rows: Sequence[Row], allowed: float) -> str:
    chosen = [row for row in rows if row["max_false_push"] == allowed]
    lines = [
        (
            kind["kind"].replace("_", " "),
            GROUPS[kind["group"]],
            f"{kind['n']}",
            *(_kind(row["kinds"][at]) for row in chosen),
        )
        for at, kind in enumerate(chosen[0]["kinds"])
    ]
    head = ("kind", "", "turns", *(_name(row) for row in chosen))
    return f"With `max_false_push` {allowed:g}:\n\n{table(head, lines)}\n"


def _kind(kind: Mapping[str, Any]) -> str:
    if kind["group"] != "need":
        return f"{kind['advised']}"
    at_hand = f", {kind['at_hand']} at hand" if kind["at_hand"] else ""
    return f"{kind['advised']} ({kind['right_first']} right{at_hand})"


def _requests(rows: Sequence[Row]) -> str:
    lines = [
        (
            _name(row),
            f"{row['max_false_push']:g}",
            _share(row["advised"]),
            _share(row["right_first"]),
        )
        for row in rows
    ]
    return table(("mode", "`max_false_push`", "advised", "right first"), lines) + "\n"


def _aims(rows: Sequence[Row], settings: Sequence[Row]) -> str:
    """Every aim, met or missed, for each mode."""
    lines = []
    for row in rows:
        area = row["auc"][0]
        cells = [_met(_points(area), area >= AUC_AIM)]
        for allowed, (most_false, least) in AIMS.items():
            [at] = [
                s for s in settings if _name(s) == _name(row) and s["max_false_push"] == allowed
            ]
            false, advised, right = (
                at[name][0] for name in ("false_pushes", "advised", "right_first")
            )
            cells += [
                _met(f"{false:.1%}", false <= most_false),
                _met(_percent(advised), advised >= least),
                _met(_percent(right), right >= RIGHT_AIM),
            ]
        lines.append((_name(row), *cells))
    columns = [f"{name}, {allowed:g}" for allowed in AIMS for name in ("false", "advised", "right")]
    return table(("mode", "AUC", *columns), lines) + "\n"


def _short_of_all(settings: Sequence[Row]) -> str:
    """The aims that would be missed if turns at hand counted as silent ones."""
    found = []
    for allowed, (_most_false, least) in AIMS.items():
        rows = [row for row in settings if row["max_false_push"] == allowed]
        below = [row for row in rows if _advised_of_all(row) < least]
        found += [
            f"{_name(row)} with {allowed:g} ({_percent(_advised_of_all(row))})" for row in below
        ]
    if not found:
        return ""
    return (
        "If the turns at hand counted as silent ones, the share of advised turns would be missed by "
        f"{'; '.join(found)}.\n\n"
    )


def _met(value: str, met: bool) -> str:
    return value if met else f"{value} **missed**"


def _mode(row: Row) -> str:
    return f"`{row['mode']}`"


def _name(row: Row) -> str:
    return row["mode"] if row["encoder"] == "-" else f"{row['mode']}, {row['encoder']}"


def _area(share: Sequence[float]) -> str:
    middle, low, high = map(_points, share[:3])
    return f"{middle} [{low}, {high}]"


def _points(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def _share(share: Sequence[Any], digits: int = 0) -> str:
    if share[0] is None:
        return "-"
    middle, low, high = (f"{100 * value:.{digits}f}" for value in share[:3])
    return f"{middle}% [{low}, {high}]"


def _percent(value: float) -> str:
    return f"{value:.0%}"
