"""Mode ``two_stage``: a first stage finds, a cross-encoder puts its best into a better order.

::

    blend = weight * sigmoid(cross-encoder) + (1 - weight) * minmax(first stage)

over the best `depth` skills of the first stage, which is any other mode. A pair is the query and a
skill's name and description, and the beginning of its body where that is asked for. Cross-encoders
are trained on short queries, so a long text is cut to its first sentences.

The sigmoid is for cross-encoders whose scores are logits. It leaves them on their own scale: where
none of the skills answers the query all of them are near 0 and the order stands, while min-max
would promote the least bad one. Scores of other kinds are min-max normalised.

What lies beyond `depth` follows in the order of the first stage, with its scores; the reranked
ones score ``1 + blend`` more than the last of them did there. So paging goes on through the whole
ranking of the first stage, and what matches at all is up to it.

Pairs are scored in small batches until `budget_ms` is spent, one batch at least. Then those that are scored are put
into order among themselves, the rest keep theirs, and `Ranking.degraded` says how far it got. The
model is loaded while the retriever is built, and in a forked child before the clock starts. A
cross-encoder that fails costs the reranking, never the answer.

Two stages and their depth are those of SkillSeek (https://arxiv.org/abs/2609.38822, section 3.1);
the blend keeps what the first stage knows and a model of pairs does not.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from skillcue_adapters.normalization import min_max, sigmoid
from skillcue_adapters.rerankers import open_pair_scorer
from skillcue_adapters.rerankers.numbers import checked_scores
from skillcue_adapters.rerankers.texts import pair_query, pair_text
from skillcue_adapters.scoring import EncodingProgress
from skillcue_adapters.settings import choice, number, read_settings
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_adapters.stages import default_base, innermost
from skillcue_hooks.contracts import Hit, Library, Query, Ranking, RetrieverContext, Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.protocols import PairScorer, Retriever

__all__ = ["TwoStageRetriever", "TwoStageSettings", "blended", "build"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""


Floats = npt.NDArray[np.float64]

log = logging.getLogger("skillcue.two_stage")


@dataclass(frozen=True, slots=True)
class TwoStageSettings:
    """Settings of mode ``two_stage``.

    Besides these: ``first``, the mode of the first stage (default ``skillsight``; its settings
    are its own), and ``cross_encoder``, a spec or an object, which goes before the one that was
    chosen for all modes.

    Attributes:
        depth: Skills that are reranked.
        weight: Share of the cross-encoder in the blend, 0 to 1.
        scale: What makes the cross-encoder's scores comparable: ``sigmoid``, ``minmax``, or
            ``auto``, which is ``sigmoid`` where the scorer says that its scores are logits.
        budget_ms: Milliseconds for the cross-encoder in one search; the batch that is under way
            is finished, and a reranker object of a framework, which scores all at once, is not
            interrupted.
        batch_pairs: Pairs that are scored at a time.
        query_chars: Longer queries are cut to their first sentences, up to so many characters.
        body_chars: Characters of the body that are read besides name and description.
        text_chars: Characters of name, description and body that are read at most.
    """

    depth: int = number(20, 1, 1000)
    weight: float = number(0.4, 0.0, 1.0)
    scale: str = choice("auto", "minmax", "sigmoid")
    budget_ms: int = number(300, 1, 600_000)
    batch_pairs: int = number(4, 1, 1000)
    query_chars: int = number(300, 10, 1_000_000)
    body_chars: int = number(0, 0, 1_000_000)
    text_chars: int = number(2000, 10, 1_000_000)


class TwoStageRetriever:
    """See the module. Hits carry the signals of the first stage, ``z`` among them, and:

    first
        Score in the first stage.
    cross_encoder
        What the cross-encoder gave, on its own scale; only where the skill was reranked.
    blend
        The blend, 0 to 1; likewise.

    Args:
        library: What the first stage indexes.
        first: The first stage.
        scorer: The cross-encoder.
        settings: Settings of the mode.
        mode: Name it is registered under.
        spec: What `scorer` was opened from; the next generation takes it over where it has the
            same.

    Attributes:
        fingerprint: Identity of algorithm, settings, first stage and cross-encoder.
        generation: Of the library.
        scorer: As given.
        spec: As given.

    Raises:
        ConfigurationError: The cross-encoder cannot be loaded.
    """

    def __init__(
        self,
        library: Library,
        first: Retriever,
        scorer: PairScorer,
        settings: TwoStageSettings,
        mode: str = "two_stage",
        spec: object = None,
    ) -> None:
        self.settings = settings
        self.generation = library.generation
        self.scorer = scorer
        self.spec = spec
        self._lookup = SkillLookup(library)
        self._first = first
        self._mode = mode
        self._logged: set[str] = set()
        _warm_up(scorer)
        self.fingerprint = fingerprint(
            "two_stage", VERSION, first.fingerprint, scorer.fingerprint, asdict(settings)
        )
        self._ranking_fingerprint = fingerprint(self.fingerprint, self.generation)

    @property
    def progress(self) -> EncodingProgress:
        """How far the first stage is; see `ScoringRetriever.progress`."""
        found = getattr(innermost(self._first), "progress", None)
        return found if isinstance(found, EncodingProgress) else EncodingProgress()

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Wait until the first stage is complete; see `ScoringRetriever.wait_ready`."""
        wait = getattr(innermost(self._first), "wait_ready", None)
        return True if wait is None else bool(wait(timeout))

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`; see `skillcue_hooks.protocols.Retriever`.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        started = time.perf_counter()
        depth, end = self.settings.depth, query.offset + query.k
        found = self._first.search(replace(query, k=max(depth, end), offset=0))
        top, rest = found.hits[:depth], found.hits[depth:]
        missing = None
        if query.offset < len(top):  # else no page of it is asked for, and the rest stays as it is
            top, missing = self._reranked(query.text, top)
        hits = [*top, *(_with_signals(hit, {"first": hit.score}) for hit in rest)]
        return replace(
            found,
            hits=tuple(
                replace(hit, rank=rank)
                for rank, hit in enumerate(hits[query.offset : end], start=query.offset + 1)
            ),
            mode=self._mode,
            fingerprint=self._ranking_fingerprint,
            elapsed_s=time.perf_counter() - started,
            degraded="; ".join(filter(None, (found.degraded, missing))) or None,
            cached=False,
        )

    def _reranked(self, text: str, hits: Sequence[Hit]) -> tuple[tuple[Hit, ...], str | None]:
        """`hits` in their new order, and what is missing from it."""
        unranked = tuple(_with_signals(hit, {"first": hit.score}) for hit in hits)
        try:
            scores = self._scores(text, [hit.skill for hit in hits])
        except Exception as error:  # a model or a service may raise anything; the order stands
            if self._first_time("failed"):
                log.exception("mode %s: the cross-encoder failed; the order stands", self._mode)
            return unranked, f"not reranked: the cross-encoder raised {type(error).__name__}"
        done = len(scores)
        missing = None
        if done < len(hits):
            missing = f"reranked {done} of {len(hits)} in {self.settings.budget_ms} ms"
        relevance = self._relevance(np.array(scores, dtype=np.float64))
        top = blended(hits[:done], scores, relevance, self.settings.weight)
        return (*top, *unranked[done:]), missing

    def _relevance(self, scores: Floats) -> Floats:
        scale = self.settings.scale
        if scale == "auto":
            scale = "sigmoid" if getattr(self.scorer, "logits", False) else "minmax"
        return sigmoid(scores) if scale == "sigmoid" else min_max(scores)

    def _scores(self, text: str, skills: Sequence[Skill]) -> list[float]:
        """Scores of the first of `skills`, as far as the budget goes."""
        _warm_up(self.scorer)  # a forked child has to load the model again
        query = pair_query(text, self.settings.query_chars)
        if self.settings.body_chars:
            skills = self._lookup.whole(skills)
        texts = [
            pair_text(skill, self.settings.body_chars, self.settings.text_chars) for skill in skills
        ]
        whole = getattr(self.scorer, "all_at_once", False)
        size = len(texts) if whole else self.settings.batch_pairs
        end = time.perf_counter() + self.settings.budget_ms / 1000
        scores: list[float] = []
        while len(scores) < len(texts) and (not scores or time.perf_counter() < end):
            batch = texts[len(scores) : len(scores) + size]
            found = self.scorer.score(query, batch)
            scores += checked_scores(found, len(batch), type(self.scorer).__name__)
        if whole and time.perf_counter() > end and self._first_time("slow"):
            limit = self.settings.budget_ms
            log.warning("mode %s: the cross-encoder took more than %d ms", self._mode, limit)
        return scores

    def _first_time(self, what: str) -> bool:
        """Whether `what` happens for the first time; searches are many, and one line will do."""
        seen = what in self._logged
        self._logged.add(what)
        return not seen


def blended(
    hits: Sequence[Hit], scores: Sequence[float], relevance: Floats, weight: float
) -> tuple[Hit, ...]:
    """`hits` in the order of the blend, with its signals.

    The new score is ``1 + blend`` more than the lowest first-stage score among them, so they stay
    above whatever ranked below them. Ties by id.

    Args:
        hits: In first-stage order, at least one.
        scores: Of the cross-encoder, one a hit; a signal and nothing else.
        relevance: The same from 0 to 1.
        weight: Share of `relevance`, 0 to 1.
    """
    first = np.array([hit.score for hit in hits], dtype=np.float64)
    blend = weight * relevance + (1.0 - weight) * min_max(first)
    base = float(first.min()) + 1.0
    ranked = [
        _with_signals(
            replace(hit, score=base + float(blend[n])),
            {"first": hit.score, "cross_encoder": scores[n], "blend": float(blend[n])},
        )
        for n, hit in enumerate(hits)
    ]
    return tuple(sorted(ranked, key=lambda hit: (-hit.score, hit.skill.id)))


def build(library: Library, context: RetrieverContext) -> TwoStageRetriever:
    """Factory of mode ``two_stage``; the cross-encoder's model is loaded here.

    Settings are those of `TwoStageSettings`, ``first`` and ``cross_encoder``.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        UnknownModeError: No mode has the name of the first stage.
        ConfigurationError: A setting is out of range, no cross-encoder was chosen, or it cannot
            be opened.
        MissingExtraError: A stage needs a package that is not installed.
    """
    given = dict(context.settings)
    first = given.pop("first", default_base(context))
    spec = given.pop("cross_encoder", None)
    others = ("first", "cross_encoder")
    settings = read_settings(TwoStageSettings, given, context.mode, others=others)
    if spec is None:
        spec = context.defaults.get("cross_encoder")
    if spec is None:
        raise ConfigurationError(
            f"Mode {context.mode!r} has no cross-encoder, and none comes with skillcue.",
            'Name one: SkillCue(..., cross_encoder="onnx:/path/to/model").',
        )
    if not isinstance(first, str) or first == context.mode:
        raise ConfigurationError(
            f"Mode {context.mode!r} cannot have {first!r} as its first stage.",
            f"Name another mode (default {default_base(context)!r}).",
        )
    scorer = _scorer(spec, context.previous)
    return TwoStageRetriever(
        library, context.retriever(first), scorer, settings, context.mode, spec
    )


def _scorer(spec: object, previous: object) -> PairScorer:
    """The scorer of the generation before, whose model is loaded, or a new one."""
    if isinstance(previous, TwoStageRetriever):
        before = previous.spec
        if before is spec or (isinstance(spec, str) and spec == before):
            return previous.scorer
    return open_pair_scorer(spec)


def _warm_up(scorer: PairScorer) -> None:
    warm_up = getattr(scorer, "warm_up", None)
    if warm_up is not None:
        warm_up()


def _with_signals(hit: Hit, more: Mapping[str, float]) -> Hit:
    return replace(hit, signals={**hit.signals, **more})
