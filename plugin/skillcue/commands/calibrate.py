"""``skillcue calibrate``: the gate of push from what was recorded in use."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skillcue.commands.bar import Bar
from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, fields, write_json
from skillcue.pages.render import check_writable, write_whole
from skillcue.push.weights import GATE_VERSION
from skillcue.traces.outcomes import (
    REASONS,
    JudgedTurn,
    judge_turns,
    of_gate,
    of_mode,
    read_labels,
)
from skillcue.traces.reading import Traces, read_traces
from skillcue.traces.refit import Refit, Share, by_shipped, refit, with_confidence
from skillcue.traces.settings_file import SCHEMA, VERSION, fitted_fields, gate_fields
from skillcue.traces.weights import FEWEST_OF_EACH, WeightsRefit, refit_weights
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

MOVED_SHOWN = 6
"""Rows of the table of weights; ``--json`` has all of them."""


def run(args: Namespace) -> int:
    """Refit, write the settings, say what changes."""
    if not 0 < args.max_false_push < 1:
        raise ConfigurationError(
            f"--max-false-push is {args.max_false_push:g}.", "Use a share above 0 and below 1."
        )
    check_writable(args.out)
    labels = read_labels(Path(args.labels)) if args.labels else {}
    with Bar(args.progress) as bar:
        traces = read_traces(Path(args.traces), bar.update)
        judged = judge_turns(traces, labels)
        if not judged:
            raise ConfigurationError(
                f"{args.traces} holds no decided turn.", "Record with SkillCue(..., traces=FILE)."
            )
        mode = args.mode or Counter(item.turn.mode for item in judged).most_common(1)[0][0]
        chosen = of_gate(of_mode(judged, mode)) or _no_turns(mode, judged)
        found = _calibrated(chosen, mode, args.max_false_push, bar)
    document = _document(args, mode, chosen, found)
    write_whole(args.out, json.dumps(document, indent=2) + "\n")
    if args.json:
        write_json(document)
    else:
        _show(Screen(), args, document, found)
    _note_problems(args, traces, labels, judged, chosen)
    return 0


@dataclass(frozen=True, slots=True)
class _Calibrated:
    """A threshold for the shipped weights, and what else was tried.

    Attributes:
        shipped: With the shipped weights.
        weights: The fitted weights; None where too few turns are known.
        refitted: With those.
    """

    shipped: Refit
    weights: WeightsRefit | None = None
    refitted: Refit | None = None

    @property
    def used(self) -> Refit:
        """What the file holds."""
        if self.weights and self.refitted and self.weights.better:
            return self.refitted
        return self.shipped


def _calibrated(
    chosen: Sequence[JudgedTurn], mode: str, max_false_push: float, bar: Bar
) -> _Calibrated:
    shipped = refit(by_shipped(chosen), max_false_push)
    weights = refit_weights(chosen, mode, bar.update)
    if weights is None:
        return _Calibrated(shipped)
    again = with_confidence(chosen, weights.confidence)
    return _Calibrated(shipped, weights, refit(again, max_false_push, 1.0 - max_false_push))


def _no_turns(mode: str, judged: Sequence[JudgedTurn]) -> list[JudgedTurn]:
    known = ", ".join(sorted({item.turn.mode for item in judged}))
    raise ConfigurationError(f"No turn was decided in mode {mode!r}.", f"Recorded: {known}.")


def _document(
    args: Namespace, mode: str, chosen: Sequence[JudgedTurn], found: _Calibrated
) -> dict[str, Any]:
    reasons = Counter(item.reason for item in chosen)
    fitted = found.weights if found.used is found.refitted else None
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "gate_version": GATE_VERSION,
        "mode": mode,
        "max_false_push": args.max_false_push,
        "gate": gate_fields(found.used.threshold),
        "fitted": fitted_fields(fitted.gate) if fitted else None,
        "turns": {
            "decided": len(chosen),
            "known": sum(item.need is not None for item in chosen),
            **{reason: reasons[reason] for reason in REASONS},
        },
        **asdict(found.used),
        "weights": _weights(found),
    }


def _weights(found: _Calibrated) -> dict[str, Any] | None:
    """The shipped weights against the fitted ones, whichever are used; moved most first."""
    weights, refitted = found.weights, found.refitted
    if weights is None or refitted is None:
        return None
    fitted = {item.name: item.weight for item in weights.gate.weights}
    moved = sorted(weights.effects, key=lambda name: (-abs(weights.effects[name]), name))
    return {
        "used": weights.better,
        "turns": weights.turns,
        "needed": weights.needed,
        "log_loss": dict(zip(_BY, weights.log_loss, strict=True)),
        "auc": dict(zip(_BY, weights.auc, strict=True)),
        "gain": weights.gain,
        "gain_error": weights.gain_error,
        "false": {by: asdict(r.false_after) for by, r in _each(found.shipped, refitted)},
        "advised": {by: asdict(r.advised_after) for by, r in _each(found.shipped, refitted)},
        "stretch": weights.stretch,
        "moved": [
            {
                "feature": name,
                "shipped": weights.shipped[name],
                "refitted": fitted[name],
                "effect": weights.effects[name],
            }
            for name in moved
        ],
    }


_BY = ("shipped", "refitted")


def _each(*found: Refit) -> list[tuple[str, Refit]]:
    return list(zip(_BY, found, strict=True))


def _show(screen: Screen, args: Namespace, document: dict[str, Any], found: _Calibrated) -> None:
    turns = document["turns"]
    screen.show(f"{turns['decided']} decided turns in mode {document['mode']}")
    rows = [(reason, f"{turns[reason]}", words) for reason, words in REASONS.items()]
    screen.table(
        ("outcome", "turns", "counts as"), [row for row in rows if row[1] != "0"], numeric="turns"
    )
    _show_weights(screen, found, document["weights"])
    used = found.used
    screen.heading(f"so that push speaks on at most {args.max_false_push:.0%} of needless turns")
    screen.show(
        fields(
            [
                ("threshold", f"{used.before:g} -> {used.threshold:g}"),
                ("push spoke on", _share(used.spoke)),
                ("false pushes", _change(used.false_before, used.false_after)),
                ("needed turns advised", _change(used.advised_before, used.advised_after)),
                ("changes", f"{used.silenced} turns fall silent, {used.awakened} get advice"),
            ]
        )
    )
    screen.heading("what confidence meant")
    bins = [
        (f"{low:.3f} to {high:.3f}", f"{share.n}", _share(share))
        for low, high, share in used.reliability
    ]
    screen.table(("confidence", "turns", "needed a skill"), bins, numeric="turns")
    screen.show("", f"written to {args.out}; use it with")
    screen.show(f'  SkillCue(..., push=PushSettings(gate=calibrated_gate("{args.out}")))')


def _show_weights(screen: Screen, found: _Calibrated, told: dict[str, Any] | None) -> None:
    screen.heading("weights")
    if told is None or found.refitted is None:
        screen.show(
            f"the shipped ones: to fit them, {FEWEST_OF_EACH} turns that needed a skill and as many "
            "that did not must have their features and the gate recorded"
        )
        return
    screen.show(f"fitted to {told['turns']} turns, {told['needed']} of which needed a skill")
    old, new = found.shipped, found.refitted
    rows = [
        ("log loss", *(f"{told['log_loss'][by]:.3f}" for by in _BY)),
        ("AUC", *(f"{told['auc'][by]:.3f}" for by in _BY)),
        ("false pushes", _share(old.false_after), _share(new.false_after)),
        ("needed turns advised", _share(old.advised_after), _share(new.advised_after)),
    ]
    screen.table(("of turns they were not fitted to", *_BY), rows)
    gain = f"log loss falls by {told['gain']:.4f}, standard error {told['gain_error']:.4f}"
    if not told["used"]:
        screen.show(f"the shipped weights stay: {gain}, which is not clearly better")
        return
    screen.show(f"the refitted weights are used: {gain}", "")
    moved = [
        (row["feature"], f"{row['shipped']:.3f}", f"{row['refitted']:.3f}", f"{row['effect']:+.3f}")
        for row in told["moved"][:MOVED_SHOWN]
    ]
    columns = ("feature", *_BY, "log-odds for one standard deviation")
    screen.table(columns, moved, numeric=" ".join(_BY))


def _change(before: Share, after: Share) -> str:
    return f"{_share(before)} -> {_share(after)}"


def _share(share: Share) -> str:
    if share.n == 0:
        return "none known"
    return (
        f"{share.hits} of {share.n} ({share.hits / share.n:.1%}, {share.low:.1%}-{share.high:.1%})"
    )


def _note_problems(
    args: Namespace,
    traces: Traces,
    labels: dict[str, bool],
    judged: Sequence[JudgedTurn],
    chosen: Sequence[JudgedTurn],
) -> None:
    if traces.skipped:
        print_note(f"{traces.skipped} lines of {args.traces} are no records and were skipped.")
    unknown = len(set(labels) - {item.turn.id for item in judged})
    if unknown:
        print_note(f"{unknown} labels are of turns that were not recorded.")
    if len(chosen) < len(judged):
        print_note(
            f"{len(judged) - len(chosen)} turns of other modes are left out.",
            "Their confidence is another number: calibrate them with --mode.",
        )
    if args.skills:
        with open_library(args) as library:
            now = library.cue.snapshot().generation
        stale = sum(item.turn.generation != now for item in chosen)
        if stale:
            print_note(
                f"{stale} of {len(chosen)} turns were decided over another state of the library."
            )
