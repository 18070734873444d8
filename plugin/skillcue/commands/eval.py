"""``skillcue eval``: how well modes find the right skill, as a table, as JSON, as a report."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillcue.commands.bar import Bar
from skillcue.commands.language_model import open_model
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.evaluation.conversations import conversation_files, load_labelled
from skillcue.evaluation.conversations_document import PushEvaluated, make_push_document
from skillcue.evaluation.conversations_run import run_push
from skillcue.evaluation.conversations_table import show_push_document
from skillcue.evaluation.datasets import Reading, load_dataset, load_pool
from skillcue.evaluation.document import Evaluated, make_document
from skillcue.evaluation.layout import FileChoice, find_files, find_pool
from skillcue.evaluation.outcomes import read_outcomes
from skillcue.evaluation.runner import RunSettings, run_modes
from skillcue.evaluation.table import show_document
from skillcue.extras import require
from skillcue.pages.render import check_writable, write_whole
from skillcue.push.gate import GateSettings
from skillcue.push.settings import PushSettings
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

MOST_K = 1000
"""Largest ``--k``."""
NAMES_SHOWN = 5
"""Most queries named in a note; ``--json`` has all of them."""


def run(args: Namespace) -> int:
    """Evaluate, print the table or JSON, write the files that were asked for."""
    modes, baseline = _modes(args)
    for named in (args.json, args.html):
        check_writable(named if named != "-" else None)
    labelled = conversation_files(Path(args.dataset))
    if labelled:
        _run_push(args, labelled, modes, baseline)
        return 0
    _refuse_gate_options(args)
    require("ir_measures", "ir_measures", "eval")  # before minutes are spent on searching
    document = _evaluated(args, modes, baseline)
    if args.html:
        from skillcue.evaluation.report import render_report

        write_whole(args.html, render_report(document))
    _write_json(args, document)
    if args.json != "-":
        show_document(Screen(), document)
    _note_problems(document)
    return 0


def _run_push(args: Namespace, files: Sequence[Path], modes: list[str], baseline: str) -> None:
    """Evaluate push on labelled conversations and requests."""
    dataset = Path(args.dataset)
    folder = dataset if dataset.is_dir() else dataset.parent
    settings, push = _run_settings(args), _push_settings(args)
    with Bar(args.progress) as bar:
        bar.update(f"reading {dataset}", 0, 0)
        pool = load_pool(find_pool(folder, _choice(args)), _reading(args))
        data = load_labelled(dataset.resolve().name, files, pool)
        runs = run_push(data, modes, settings, push, bar.update)
        bar.update("scoring", 0, 0)
        document = make_push_document(PushEvaluated(data, settings, push, runs, baseline))
    if args.html:
        from skillcue.evaluation.conversations_report import render_push_report

        write_whole(args.html, render_push_report(document))
    _write_json(args, document)
    if args.json != "-":
        show_push_document(Screen(), document)
    for note in document["dataset"]["notes"]:
        print_note(note)


def _push_settings(args: Namespace) -> PushSettings:
    if args.max_false_push is None:
        return PushSettings()
    return PushSettings(gate=GateSettings(max_false_push=args.max_false_push))


def _refuse_gate_options(args: Namespace) -> None:
    """A setting of the gate would be ignored without a word where no push is measured."""
    if args.max_false_push is not None:
        raise ConfigurationError(
            f"--max-false-push is for labelled conversations, which {args.dataset} does not hold.",
            "Leave it out, or name a file or folder of labelled conversations.",
        )


def _write_json(args: Namespace, document: dict[str, Any]) -> None:
    if args.json == "-":
        write_json(document)
    elif args.json:
        write_whole(args.json, json.dumps(document, indent=1) + "\n")


def _evaluated(args: Namespace, modes: list[str], baseline: str) -> dict[str, Any]:
    files = find_files(Path(args.dataset), _choice(args))
    reading, settings = _reading(args), _run_settings(args)
    with Bar(args.progress) as bar:
        bar.update(f"reading {args.dataset}", 0, 0)
        dataset = load_dataset(files, reading)
        asked = {question.id for question in dataset.questions}
        outcomes = read_outcomes(Path(args.outcomes), asked, modes) if args.outcomes else None
        runs, snapshot = run_modes(dataset, modes, settings, bar.update)
        bar.update("scoring", 0, 0)
        return make_document(
            Evaluated(dataset, reading, settings, runs, baseline, snapshot, outcomes)
        )


def _reading(args: Namespace) -> Reading:
    return Reading(args.field, args.context, args.pool, args.bodies == "none")


def _run_settings(args: Namespace) -> RunSettings:
    return RunSettings(
        k=args.k,
        encoder=args.encoder,
        bodies="all" if args.bodies == "all" else "lexical",
        cross_encoder=args.cross_encoder,
        modes=_mode_settings(args.setting),
        cache=Path(args.cache) if args.cache else None,
        llm=open_model(args.llm, args.price, args.llm_timeout),
    )


def _modes(args: Namespace) -> tuple[list[str], str]:
    modes = [mode.strip() for mode in args.modes.split(",") if mode.strip()]
    if not modes:
        raise ConfigurationError("--modes names no mode.", "Such as --modes bm25,skillsight.")
    if len(set(modes)) != len(modes):
        raise ConfigurationError(f"--modes {args.modes} names a mode twice.", "Name each once.")
    baseline = args.baseline or modes[0]
    if baseline not in modes:
        raise ConfigurationError(
            f"--baseline {baseline} is not among the modes {', '.join(modes)}.",
            "Add it to --modes.",
        )
    if not 1 <= args.k <= MOST_K:
        raise ConfigurationError(f"--k is {args.k}.", f"Use 1 to {MOST_K}.")
    return modes, baseline


def _mode_settings(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """``mode.name=value`` texts by mode; a value that is JSON is what it says, others are text."""
    settings: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        path, equals, value = pair.partition("=")
        mode, dot, name = path.rpartition(".")
        if not (mode and dot and name and equals):
            raise ConfigurationError(
                f"--setting {pair!r} is no MODE.NAME=VALUE.", "Such as bm25.body_weight=0."
            )
        try:
            settings.setdefault(mode, {})[name] = json.loads(value)
        except ValueError:
            settings.setdefault(mode, {})[name] = value
    return settings


def _choice(args: Namespace) -> FileChoice:
    def path(named: str | None) -> Path | None:
        return Path(named) if named else None

    return FileChoice(
        split=args.split,
        queries=path(args.queries),
        qrels=path(args.qrels),
        distractors=path(args.distractors),
        skills=tuple(args.skills),
        corpus=path(args.corpus),
    )


def _note_problems(document: dict[str, Any]) -> None:
    for note in document["dataset"]["notes"]:
        print_note(note)
    unjudged = document["dataset"]["unjudged"]
    if unjudged:
        print_note(
            f"{_count(unjudged, 'query', 'queries')} without a judgment, in no mean: "
            + _listed(unjudged)
        )
    for mode in document["modes"]:
        if mode["without_hits"]:
            print_note(
                f"{mode['mode']} found nothing for {_count(mode['without_hits'], 'query', 'queries')}"
                f", which count as 0: {_listed(mode['without_hits'])}"
            )
        if mode["degraded"]:
            reasons = sorted(set(mode["degraded"].values()))
            print_note(
                f"{mode['mode']} answered {_count(list(mode['degraded']), 'query', 'queries')} by a "
                f"cheaper path ({'; '.join(reasons[:NAMES_SHOWN])}): these scores are not its own."
            )


def _count(items: Sequence[str], one: str, many: str) -> str:
    return f"{len(items)} {one if len(items) == 1 else many}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
