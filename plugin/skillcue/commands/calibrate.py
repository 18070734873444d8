"""``skillcue calibrate``: the threshold of push from what was recorded in use."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, fields, write_json
from skillcue.pages.render import check_writable, write_whole
from skillcue.traces.outcomes import REASONS, JudgedTurn, judge_turns, of_mode, read_labels
from skillcue.traces.reading import Traces, read_traces
from skillcue.traces.refit import Refit, Share, refit
from skillcue.traces.settings_file import SCHEMA, VERSION, gate_fields
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Refit, write the settings, say what changes."""
    if not 0 < args.max_false_push < 1:
        raise ConfigurationError(
            f"--max-false-push is {args.max_false_push:g}.", "Use a share above 0 and below 1."
        )
    check_writable(args.out)
    traces = read_traces(Path(args.traces))
    labels = read_labels(Path(args.labels)) if args.labels else {}
    judged = judge_turns(traces, labels)
    if not judged:
        raise ConfigurationError(
            f"{args.traces} holds no decided turn.", "Record with SkillCue(..., traces=FILE)."
        )
    mode = args.mode or Counter(item.turn.mode for item in judged).most_common(1)[0][0]
    chosen = of_mode(judged, mode)
    found = refit(chosen, args.max_false_push) if chosen else _no_turns(mode, judged)
    document = _document(args, mode, chosen, found)
    write_whole(args.out, json.dumps(document, indent=2) + "\n")
    if args.json:
        write_json(document)
    else:
        _show(Screen(), args, document, found)
    _note_problems(args, traces, labels, judged, chosen)
    return 0


def _no_turns(mode: str, judged: Sequence[JudgedTurn]) -> Refit:
    known = ", ".join(sorted({item.turn.mode for item in judged}))
    raise ConfigurationError(f"No turn was decided in mode {mode!r}.", f"Recorded: {known}.")


def _document(
    args: Namespace, mode: str, chosen: Sequence[JudgedTurn], found: Refit
) -> dict[str, Any]:
    reasons = Counter(item.reason for item in chosen)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "mode": mode,
        "max_false_push": args.max_false_push,
        "gate": gate_fields(found.threshold),
        "turns": {
            "decided": len(chosen),
            "known": sum(item.need is not None for item in chosen),
            **{reason: reasons[reason] for reason in REASONS},
        },
        **asdict(found),
    }


def _show(screen: Screen, args: Namespace, document: dict[str, Any], found: Refit) -> None:
    turns = document["turns"]
    screen.show(f"{turns['decided']} decided turns in mode {document['mode']}")
    rows = [(reason, f"{turns[reason]}", words) for reason, words in REASONS.items()]
    screen.table(
        ("outcome", "turns", "counts as"), [row for row in rows if row[1] != "0"], numeric="turns"
    )
    screen.heading(f"so that push speaks on at most {args.max_false_push:.0%} of needless turns")
    screen.show(
        fields(
            [
                ("threshold", f"{found.before:g} -> {found.threshold:g}"),
                ("push spoke on", _share(found.spoke)),
                ("false pushes", _change(found.false_before, found.false_after)),
                ("needed turns advised", _change(found.advised_before, found.advised_after)),
                ("changes", f"{found.silenced} turns fall silent, {found.awakened} get advice"),
            ]
        )
    )
    screen.heading("what confidence meant")
    bins = [
        (f"{low:.3f} to {high:.3f}", f"{share.n}", _share(share))
        for low, high, share in found.reliability
    ]
    screen.table(("confidence", "turns", "needed a skill"), bins, numeric="turns")
    screen.show("", f"written to {args.out}; use it with")
    screen.show(f'  SkillCue(..., push=PushSettings(gate=calibrated_gate("{args.out}")))')


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
