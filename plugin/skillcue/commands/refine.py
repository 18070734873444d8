"""``skillcue refine``: what a language model composes for a task, step by step."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from skillcue.commands.cures import typed_cure
from skillcue.commands.language_model import usage_record, usage_text
from skillcue.commands.library import open_indexed
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, fields, write_json
from skillcue.commands.records import hit_record, skill_record
from skillcue.push.budget import shorten
from skillcue_adapters.refine.store import Refinement, Step
from skillcue_hooks import Ranking
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

SETTINGS = ("commands", "seconds", "tokens", "money", "base")
"""Options that are settings of the mode."""

STEP_CHARS = 60
"""Longest argument of a step in the table, characters; ``--json`` has more of it."""


def run(args: Namespace) -> int:
    """Print steps, cost and result; 1 when the task was not refined."""
    if not args.task.strip():
        raise ConfigurationError("The task is empty.", 'Say what is to be done: "merge two pdfs".')
    args.mode = "refine"
    given = {name: getattr(args, name) for name in SETTINGS}
    args.modes = {"refine": {name: value for name, value in given.items() if value is not None}}
    with open_indexed(args) as library:
        if library.is_empty:
            library.note_problems()
            return 1
        with _Status(args.progress and not args.json) as status:
            made = library.cue.refinement(args.task, watch=status.step)
        ranking = library.cue.lookup(args.task, mode="refine")
        library.note_problems()
    if args.json:
        write_json(_document(args.task, made, ranking))
    else:
        _show(made, ranking)
    return 0 if made.skills else 1


class _Status:
    """A moving line on stderr with the newest step, on a terminal only."""

    def __init__(self, wanted: bool) -> None:
        self._progress: Progress | None = None
        self._steps = 0
        if wanted and sys.stderr.isatty():
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )

    def step(self, step: Step) -> None:
        """Show what was done."""
        if self._progress is None:
            return
        self._steps += 1
        said = shorten(f"{step.command}: {step.result}", STEP_CHARS)
        self._progress.update(self._progress.task_ids[0], description=f"{self._steps}. {said}")

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.add_task("asking the model", total=None)
            self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._progress is not None:
            self._progress.stop()


def _document(task: str, made: Refinement, ranking: Ranking) -> dict[str, Any]:
    return {
        "task": task,
        "refined": bool(made.skills),
        "failure": made.failure,
        "cached": made.cached,
        "steps": [
            {"command": step.command, "argument": step.argument, "result": step.result}
            for step in made.steps
        ],
        "read": dict(sorted(made.read.items())),
        "cost": usage_record(made.cost),
        "skills": [
            {**skill_record(skill), "derived_from": list(skill.derived_from), "body": skill.body}
            for skill in made.skills
        ],
        "hits": [hit_record(hit) for hit in ranking.hits],
    }


def _show(made: Refinement, ranking: Ranking) -> None:
    screen = Screen()
    rows = [
        (str(number), step.command, shorten(step.argument, STEP_CHARS), step.result)
        for number, step in enumerate(made.steps, 1)
    ]
    if rows:
        screen.table(("#", "command", "argument", "result"), rows, numeric="#")
    screen.show("", f"cost: {usage_text(made.cost)}{' (when it was made)' if made.cached else ''}")
    for skill in made.skills:
        screen.heading(skill.name)
        about = [
            ("id", skill.id),
            ("description", skill.description),
            ("derived from", ", ".join(skill.derived_from)),
            ("trust", skill.trust),
        ]
        screen.show(fields(about), "", skill.body)
    if not made.skills:
        print_note(f"Not refined: {typed_cure(str(made.failure))}.", "The base ranking answers.")
        for hit in ranking.hits:
            screen.show(f"{hit.rank}. {hit.skill.name}")
