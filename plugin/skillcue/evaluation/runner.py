"""Ask every query of a dataset in every mode, by the way that any program takes: `SkillCue`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillcue import builtin
from skillcue.caches import IndexOnly
from skillcue.encoders import DEFAULT_ENCODER
from skillcue.evaluation.composed import judged_ids
from skillcue.evaluation.datasets import Dataset, Question
from skillcue.facade import SkillCue
from skillcue.library.protocols import Snapshot
from skillcue.library.source import StaticSource
from skillcue.push.budget import estimate_tokens
from skillcue.push.render import advice_block, render_advice
from skillcue.push.settings import PushSettings
from skillcue.registry import Factory, imported, registered_factories
from skillcue.sources import SourceSpec
from skillcue_hooks.contracts import Hit, Ranking
from skillcue_hooks.errors import ConfigurationError, UnknownModeError
from skillcue_hooks.language import Usage
from skillcue_hooks.manager import build_manager
from skillcue_hooks.protocols import Encoder

if TYPE_CHECKING:
    from skillcue_adapters.language_models import MeteredLanguageModel

__all__ = [
    "DEPTH",
    "POLL_S",
    "WARM_UP",
    "ModeRun",
    "Progress",
    "RunSettings",
    "checked_modes",
    "make_ready",
    "mode_cue",
    "run_modes",
]

DEPTH = 50
"""Hits that are asked for: recall is known up to this rank, and MRR looks no further."""
WARM_UP = ("put words into another order", "which of these is the oldest", "paint the fence")
"""Asked before anything is timed: first calls load models and fill memos."""

POLL_S = 0.1
"""Time between two looks at an index that is being made, seconds."""

Progress = Callable[[str, int, int], None]
"""Called with what is done, how many are, and of how many; 0 of 0 when that is not known."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What is run.

    Attributes:
        k: Hits that count and that are shown to the agent.
        encoder: Spec of the encoder of all modes; None takes the default.
        bodies: ``lexical`` or ``all``.
        cross_encoder: Spec of the cross-encoder of mode ``two_stage``; None when there is none.
        modes: Settings by mode name, as `SkillCue` takes them.
        cache: Folder in which vectors are kept; None keeps none.
        llm: The language model of modes that need one; None where there is none.
    """

    k: int = 5
    encoder: str | None = None
    bodies: Literal["lexical", "all"] = "lexical"
    cross_encoder: str | None = None
    modes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cache: Path | None = None
    llm: MeteredLanguageModel | None = None


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
        cost: What a language model took for all answers.
    """

    mode: str
    fingerprint: str
    hits: Mapping[str, tuple[Hit, ...]]
    tokens: Mapping[str, int]
    seconds: Mapping[str, float]
    index_seconds: float
    degraded: Mapping[str, str]
    cost: Usage = field(default_factory=Usage)

    @property
    def ranked(self) -> dict[str, list[str]]:
        """Query id to ids of skills of the library, best first."""
        return {name: judged_ids(hits) for name, hits in self.hits.items()}


def run_modes(
    dataset: Dataset, modes: Sequence[str], settings: RunSettings, progress: Progress
) -> tuple[list[ModeRun], Snapshot]:
    """Ask all questions in every mode, one after the other.

    Each mode has a `SkillCue` of its own, so that none finds what another has worked out, such
    as the vector of a query. The vectors of skills are shared: the first mode that needs them
    encodes them.

    Args:
        dataset: Skills and queries.
        modes: Names of modes.
        settings: How they are run.
        progress: Told how far it is.

    Returns:
        What the modes answered, and the library.

    Raises:
        UnknownModeError: A mode is not registered.
        ConfigurationError: The encoder or another setting is wrong, or a mode cannot be made
            ready.
        MissingExtraError: A mode needs a package that is not installed.
    """
    encoder = checked_modes(modes, settings)
    _know_words(dataset.questions)
    runs = []
    for mode in modes:
        with mode_cue(dataset.sources, mode, settings, encoder) as cue:
            runs.append(_run(cue, mode, dataset.questions, settings.k, progress))
            snapshot = cue.snapshot()
    return runs, snapshot


def checked_modes(modes: Sequence[str], settings: RunSettings) -> Encoder:
    """The encoder of all modes; what is missing for any mode shows before the first one runs.

    Raises:
        UnknownModeError: A mode is not registered.
        ConfigurationError: A setting of a mode is wrong.
        MissingExtraError: A mode needs a package that is not installed.
    """
    plugins = build_manager(builtin.plugins())
    known = registered_factories(plugins, "mode")
    for mode in modes:
        if mode not in known:
            raise UnknownModeError(mode, known)
    encoder = _encoder(settings.encoder, registered_factories(plugins, "encoder"))
    for mode in modes:
        with mode_cue([StaticSource("nothing", ())], mode, settings, encoder) as cue:
            cue.wait_ready()
    return encoder


def _encoder(spec: str | None, registered: Mapping[str, Factory]) -> Encoder:
    from skillcue_adapters.encoders import open_encoder

    return open_encoder(DEFAULT_ENCODER if spec is None else spec, registered)


def _know_words(questions: Sequence[Question]) -> None:
    """Stems are remembered by the process; the mode that comes first must not pay for all."""
    from skillcue_adapters.analyzer import ANALYZER

    for question in questions:
        ANALYZER.counts(question.text)
        ANALYZER.counts(question.context)


def mode_cue(
    sources: Sequence[SourceSpec],
    mode: str,
    settings: RunSettings,
    encoder: Encoder,
    push: PushSettings | None = None,
) -> SkillCue:
    """The library as it is evaluated in one mode: nothing cached, files looked at once."""
    from skillcue_adapters.query_vectors import forget_queries  # costs numpy only where used

    forget_queries()  # no mode is timed with vectors that another one has encoded
    return SkillCue(
        list(sources),
        mode=mode,
        encoder=encoder,
        bodies=settings.bodies,
        cross_encoder=settings.cross_encoder,
        modes=settings.modes,
        cache=IndexOnly(settings.cache) if settings.cache else False,
        recheck="manual",
        push=push,
        llm=settings.llm,
    )


def _run(
    cue: SkillCue, mode: str, questions: Sequence[Question], k: int, progress: Progress
) -> ModeRun:
    progress(f"indexing for {mode}", 0, 0)
    started = time.perf_counter()
    make_ready(cue, mode, progress)
    index_seconds = time.perf_counter() - started
    for text in () if _asks_a_model(cue, mode) else WARM_UP:
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
        sum((ranking.cost for ranking in answers.values()), Usage()),
    )


def _asks_a_model(cue: SkillCue, mode: str) -> bool:
    """Whether a warm-up would be paid for. The fit of the gate has warmed its base already."""
    factory = registered_factories(cue.plugins, "mode")[mode]
    return bool(getattr(imported("mode", mode, factory), "needs_language_model", False))


def make_ready(cue: SkillCue, mode: str, progress: Progress) -> None:
    """Build the index of a mode and wait until its answers are its own."""
    with ThreadPoolExecutor(1, "skillcue-eval") as pool:  # so that the bar moves meanwhile
        ready = pool.submit(cue.wait_ready)
        try:
            while wait([ready], POLL_S).not_done:
                state = cue.progress()
                if state is not None and state.new:
                    progress(f"encoding for {mode}", state.encoded, state.new)
        except KeyboardInterrupt:
            cue.close()  # the encoder stops after the batch at hand
            raise
        if not ready.result():
            state = cue.progress()
            raise ConfigurationError(
                f"Mode {mode!r} does not get ready: {state and state.failure}.",
                "Scores of what answers instead would not be its own.",
            )


def _tokens(cue: SkillCue, hits: Sequence[Hit]) -> int:
    """What the agent reads when these are offered to it."""
    if not hits:
        return 0
    return estimate_tokens(advice_block(render_advice(hits, cue.load_name, "skill_load")))
