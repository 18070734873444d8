"""``skillcue demo``: a conversation, played by an agent in LangGraph and in LlamaIndex."""

from __future__ import annotations

import importlib
import os
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import skillcue
from skillcue.commands.budget import LibraryCost, library_cost
from skillcue.commands.conversation import read_conversation
from skillcue.commands.library import Opened, open_indexed
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.demo.made_up import MADE_UP_NOTICE, made_up_texts
from skillcue.demo.models import MODEL_ENV, SCRIPTED_NOTICE, chat_model
from skillcue.demo.records import TurnLog, totals
from skillcue.demo.screen import show_totals, show_turn
from skillcue_hooks.errors import (
    ConfigurationError,
    LibraryNotFoundError,
    MissingExtraError,
    SkillcueError,
)

__all__ = ["run"]

FRAMEWORKS = {
    "langgraph": ("LangGraph StateGraph", "skillcue.demo.in_langgraph"),
    "llamaindex": ("LlamaIndex FunctionAgent", "skillcue.demo.in_llamaindex"),
}
"""Name to what it is in words, and the module that plays."""

_Play = Callable[..., tuple[TurnLog, ...]]


@dataclass(frozen=True, slots=True)
class _Script:
    """What the user says, and where it comes from."""

    title: str
    texts: Sequence[str]
    made_up: bool = False


@dataclass(frozen=True, slots=True)
class _Stage:
    """Everything a run needs. `screen` is None for ``--json``."""

    library: Opened
    script: _Script
    llm: Any
    model: str
    cost: LibraryCost
    screen: Screen | None


def run(args: Namespace) -> int:
    """Play the conversation; 1 for a library without skills."""
    players = _players(args.framework)
    specs = args.skills or [str(_example("skills"))]
    script = _named_script(args)
    with open_indexed(args, specs) as library:
        library.note_problems()
        if library.is_empty:
            return 1
        snapshot = library.cue.snapshot()
        stage = _Stage(
            library=library,
            script=script or _Script("made up", made_up_texts(snapshot.library.skills), True),
            llm=chat_model(say=lambda _notice: None),
            model=os.environ.get(MODEL_ENV, "").strip() or "scripted",
            cost=library_cost(snapshot),
            screen=None if args.json else Screen(),
        )
        _introduce(stage)
        runs = {name: _perform(stage, name, play) for name, play in players.items()}
        if args.json:
            write_json(_document(stage, runs))
    return 0


def _players(wanted: str) -> dict[str, _Play]:
    """Name to ``play`` of the frameworks asked for; of both, those that are installed.

    Raises:
        MissingExtraError: None of them is.
    """
    names = list(FRAMEWORKS) if wanted == "both" else [wanted]
    players: dict[str, _Play] = {}
    missing: list[MissingExtraError] = []
    for name in names:
        try:
            players[name] = importlib.import_module(FRAMEWORKS[name][1]).play
        except MissingExtraError as error:
            missing.append(error)
    if not players:
        raise missing[0]
    for absent in missing:
        print_note(f"One framework is left out: {absent.message}", absent.cure)
    return players


def _named_script(args: Namespace) -> _Script | None:
    """The conversation that was named, or the example one for the example library."""
    path = args.conversation
    if path is None and (args.skills is None or _are_examples(args.skills)):
        path = _example("conversations/month-end.json")
    if path is None:
        return None
    conversation = read_conversation(path)
    return _Script(conversation.title, [text for _, text in conversation.user_turns()])


def _example(name: str) -> Path:
    """A part of the examples, below the working directory or in the checkout this code is in.

    Raises:
        LibraryNotFoundError: They are in neither; installed packages do not carry them.
    """
    for root in (Path.cwd(), Path(skillcue.__file__).resolve().parents[2]):
        path = root / "examples" / name
        if path.exists():
            return path
    raise LibraryNotFoundError(
        f"The example files are not here: no examples/{name} in {Path.cwd()}.",
        "Name your own: --skills path/to/skills",
    )


def _are_examples(named: Sequence[str]) -> bool:
    try:
        examples = _example("skills")
    except LibraryNotFoundError:
        return False
    return len(named) == 1 and os.path.realpath(named[0]) == os.path.realpath(examples)


def _introduce(stage: _Stage) -> None:
    if stage.screen is None:
        return
    count = len(stage.library.cue.snapshot().library.skills)
    stage.screen.show(f"{stage.library.where}: {count} skills")
    stage.screen.show(
        f"conversation: {stage.script.title}, {len(stage.script.texts)} user messages"
    )
    if stage.script.made_up:
        stage.screen.show(MADE_UP_NOTICE)
    stage.screen.show(
        SCRIPTED_NOTICE if stage.model == "scripted" else f"{stage.model} plays the agent."
    )


def _perform(stage: _Stage, name: str, play: _Play) -> tuple[TurnLog, ...]:
    """One framework's run, shown turn by turn."""
    screen, number = stage.screen, 0

    def shown(turn: TurnLog) -> None:
        nonlocal number
        number += 1
        if screen:
            show_turn(screen, number, turn)

    if screen:
        screen.heading(f"== {FRAMEWORKS[name][0]} ==")
    try:
        turns = play(stage.library.cue, stage.llm, stage.script.texts, shown)
    except (SkillcueError, BrokenPipeError):
        raise
    except Exception as error:  # whatever a provider answers: no network, no credit, no tools
        if stage.model == "scripted":
            raise
        raise ConfigurationError(
            f"The model {stage.model} failed in turn {number + 1}: {type(error).__name__}: {error}",
            f"Check {MODEL_ENV}, its key and the network, or unset it for the scripted model.",
        ) from error
    if screen:
        show_totals(
            screen, totals(turns), stage.cost, len(stage.library.cue.snapshot().library.skills)
        )
    return turns


def _document(stage: _Stage, runs: Mapping[str, Sequence[TurnLog]]) -> dict[str, Any]:
    return {
        "skills": len(stage.library.cue.snapshot().library.skills),
        "conversation": {"title": stage.script.title, "made_up": stage.script.made_up},
        "model": stage.model,
        "load_everything_tokens": stage.cost.everything,
        "runs": [
            {
                "framework": name,
                "turns": [asdict(turn) for turn in turns],
                "totals": asdict(totals(turns)),
            }
            for name, turns in runs.items()
        ],
    }
