"""Ask every query of a dataset in every mode, by the way that any program takes: `SkillCue`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue.evaluation.datasets import Dataset, Question
from skillcue.facade import SkillCue
from skillcue.push.budget import estimate_tokens
from skillcue.push.render import advice_block, render_advice
from skillcue_hooks.contracts import Hit, Ranking
from skillcue_hooks.errors import ConfigurationError

__all__ = [
    "DEPTH",
    "POLL_S",
    "WARM_UP",
    "ModeRun",
    "Progress",
    "RunSettings",
    "open_cue",
    "run_mode",
]

DEPTH = 50
"""Hits that are asked for: recall is known up to this rank, and MRR looks no further."""
WARM_UP = ("put words into another order", "which of these is the oldest", "paint the fence")
"""Asked before anything is timed: first calls load models and fill memos."""

POLL_S = 0.1
"""Time between two looks at an index that is being made, seconds."""

_ENCODING = re.compile(r"encoding ([\d,]+) of ([\d,]+)")

Progress = Callable[[str, int, int], None]
"""Called with what is done, how many are, and of how many; 0 of 0 when that is not known."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What is run.

    Attributes:
        k: Hits that count and that are shown to the agent.
        encoder: Encoder of all modes; None takes the default.
        bodies: ``lexical`` or ``all``; None takes the default.
        cache: Folder in which vectors are kept; None keeps none.
    """

    k: int = 5
    encoder: str | None = None
    bodies: str | None = None
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class ModeRun:
    """What a mode answered.

    Attributes:
        mode: Its name.
        fingerprint: Identity of its settings and the library (hex).
        hits: Query id to the first `DEPTH` hits.
        tokens: Query id to the size of the first k hits as an agent would read them, tokens.
        seconds: Query id to the time its search took, encoding included, nothing cached.
        index_seconds: Time until the mode was ready. Modes share vectors, so the first that
            needs them pays for all.
        degraded: Query id to the reason why a cheaper path answered.
    """

    mode: str
    fingerprint: str
    hits: Mapping[str, tuple[Hit, ...]]
    tokens: Mapping[str, int]
    seconds: Mapping[str, float]
    index_seconds: float
    degraded: Mapping[str, str]

    @property
    def ranked(self) -> dict[str, list[str]]:
        """Query id to skill ids, best first."""
        return {name: [hit.skill.id for hit in hits] for name, hits in self.hits.items()}


@contextmanager
def open_cue(dataset: Dataset, modes: Sequence[str], settings: RunSettings) -> Iterator[SkillCue]:
    """The library of a dataset, no ranking cached.

    Raises:
        UnknownModeError: A mode is not registered.
        ConfigurationError: The encoder or another setting is wrong.
    """
    chosen = {"encoder": settings.encoder, "bodies": settings.bodies}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    cue = SkillCue(list(dataset.sources), mode=modes[0], cache=False, recheck="manual", **given)
    with cue:
        for mode in modes:
            cue.check_mode(mode)
        yield cue


def run_mode(
    cue: SkillCue, mode: str, questions: Sequence[Question], k: int, progress: Progress
) -> ModeRun:
    """Ask all questions in one mode, one after the other.

    Args:
        cue: The library.
        mode: Retrieval mode.
        questions: The queries.
        k: Hits that are shown to the agent.
        progress: Told how far it is.

    Raises:
        ConfigurationError: The mode cannot be made ready.
    """
    progress(f"indexing for {mode}", 0, 0)
    started = time.perf_counter()
    _make_ready(cue, mode, progress)
    index_seconds = time.perf_counter() - started
    for text in WARM_UP:
        cue.lookup(text, k=DEPTH, mode=mode)
    answers: dict[str, Ranking] = {}
    seconds: dict[str, float] = {}
    for number, question in enumerate(questions):
        progress(f"asking {mode}", number, len(questions))
        asked = time.perf_counter()
        answers[question.id] = cue.lookup(
            question.text, k=max(DEPTH, k), mode=mode, context=question.context
        )
        seconds[question.id] = time.perf_counter() - asked
    progress(f"asking {mode}", len(questions), len(questions))
    return ModeRun(
        mode,
        next(iter(answers.values())).fingerprint,
        {name: ranking.hits for name, ranking in answers.items()},
        {name: _tokens(cue, ranking.hits[:k]) for name, ranking in answers.items()},
        seconds,
        index_seconds,
        {name: ranking.degraded for name, ranking in answers.items() if ranking.degraded},
    )


def _make_ready(cue: SkillCue, mode: str, progress: Progress) -> None:
    """Build the index of a mode and wait until its answers are its own."""
    while reason := cue.lookup(WARM_UP[0], k=1, mode=mode).degraded:
        if reason.startswith("encoding failed"):
            raise ConfigurationError(
                f"Mode {mode!r} does not get ready: {reason}",
                "Scores of what answers instead would not be its own.",
            )
        counted = _ENCODING.match(reason)
        if counted is None:  # about this query, not about the index
            return
        done, total = (int(number.replace(",", "")) for number in counted.groups())
        progress(f"indexing for {mode}", done, total)
        time.sleep(POLL_S)


def _tokens(cue: SkillCue, hits: Sequence[Hit]) -> int:
    """What the agent reads when these are offered to it."""
    if not hits:
        return 0
    return estimate_tokens(advice_block(render_advice(hits, cue.load_name, "skill_load")))
