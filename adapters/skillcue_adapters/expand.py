"""Mode ``expand``: a language model rewords the query, and three rankings are fused.

::

    seeds    = the first skills of the base mode for the query
    variants = one call of the language model: two rewordings of the query, made from the query and
               the structured context of the seeds (capabilities, parameters, examples)
    score    = sum over the query and both variants of 1 / (k + rank in the base mode)

The best `top` of the fused ranking come first; the rest of the base's ranking follows in its order.
This is the online query expansion of "Skill2Query" (section 3.4 and appendix B): the query itself
stays one of the three views, the model may add neither tasks nor tools, generation is tried again
twice at most and then the base answers alone. The sum is reciprocal rank fusion (Cormack, Clarke
and Buettcher 2009, equation 1).

The fusion changes the order and nothing else: the hit at a rank has the score that the base has
given at that rank, and its signals are those of the query itself, never of a variant. So what is
built on the scores of the base, the push gate above all, holds for this mode too, and a variant
cannot talk it into anything.

Variants are remembered, in memory and where there is a cache folder on disk, by the query, the
content of the seeds, the model and the prompt: the same search asks the model once, in any process.
After a failure the same search is answered by the base alone for a while, without asking.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from skillcue_adapters.asking import InvalidAnswerError, Question, ask
from skillcue_adapters.caching.answers import open_answers
from skillcue_adapters.expand_prompt import PROMPT_VERSION, SYSTEM, prompt_data, read_variants
from skillcue_adapters.recent_failures import RecentFailures
from skillcue_adapters.scoring import EncodingProgress
from skillcue_adapters.settings import number, read_settings
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_adapters.stages import default_base, innermost
from skillcue_hooks.contracts import Hit, Library, Query, Ranking, RetrieverContext, Scope, Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import Usage
from skillcue_hooks.protocols import CacheStore, LanguageModel, Retriever

__all__ = ["ExpandRetriever", "ExpandSettings", "build", "fused"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same settings give other scores."""

DEFAULT_BASE = "skillsight"

log = logging.getLogger("skillcue.expand")


@dataclass(frozen=True, slots=True)
class ExpandSettings:
    """Settings of mode ``expand``.

    Besides these: ``base``, the mode that ranks (default ``skillsight``; its settings are its own).

    Attributes:
        seeds: Skills of the base's ranking whose context the model sees.
        retries: Further calls after one that failed or gave nothing that can be used, 0 to 2.
        timeout_s: Seconds for all calls of one search together.
        max_tokens: Longest answer of the model, tokens.
        query_chars: Longer queries are shown to the model by their beginning and end, characters.
        seed_chars: Size of one seed's context, characters.
        variant_chars: Longest variant, characters.
        top: Skills of the fused ranking that come first.
        depth: Skills of each of the three rankings that are fused.
        k: How little the first ranks differ, 0 to 10000.
        retry_s: After a failure the same search asks again so much later, seconds.
    """

    seeds: int = number(5, 1, 20)
    retries: int = number(2, 0, 2)
    timeout_s: float = number(15.0, 0.1, 600.0)
    max_tokens: int = number(400, 16, 100_000)
    query_chars: int = number(2000, 10, 1_000_000)
    seed_chars: int = number(1500, 200, 100_000)
    variant_chars: int = number(600, 10, 10_000)
    top: int = number(20, 1, 1000)
    depth: int = number(100, 1, 100_000)
    k: int = number(60, 0, 10_000)
    retry_s: float = number(600.0, 0.0, 1_000_000.0)


@dataclass(frozen=True, slots=True)
class _Expansion:
    """The variants of a query; without any, `failure` says why."""

    variants: tuple[str, ...]
    failure: str = ""
    usage: Usage = field(default_factory=Usage)


class ExpandRetriever:
    """See the module. Hits carry the signals of the base for the query, and ``fused``, the sum of
    reciprocal ranks, where it ranks by that.

    Args:
        library: What the base indexes.
        base: Ranks the three views.
        model: Makes the variants.
        settings: Settings of the mode.
        answers: Where variants are remembered.
        mode: Name it is registered under.
        base_mode: Name that the base is registered under.
        failures: Searches that were not expanded lately; None for none.

    Attributes:
        fingerprint: Identity of algorithm, settings, base, model and prompt.
        generation: Of the library.
        answers: As given; the next generation goes on with it.
        failures: The same.
        base_mode: As given. What is fitted to scores by many searches, such as the push gate, is
            fitted to that mode, which asks no model and scores alike.
    """

    def __init__(
        self,
        library: Library,
        base: Retriever,
        model: LanguageModel,
        settings: ExpandSettings,
        answers: CacheStore,
        mode: str = "expand",
        base_mode: str = DEFAULT_BASE,
        failures: RecentFailures | None = None,
    ) -> None:
        self.settings = settings
        self.generation = library.generation
        self.answers = answers
        self.failures = failures or RecentFailures()
        self.base_mode = base_mode
        self._lookup = SkillLookup(library)
        self._base = base
        self._model = model
        self._mode = mode
        parts = (base.fingerprint, model.fingerprint, PROMPT_VERSION, asdict(settings))
        self.fingerprint = fingerprint("expand", VERSION, *parts)
        self._ranking_fingerprint = fingerprint(self.fingerprint, self.generation)

    @property
    def progress(self) -> EncodingProgress:
        """How far the base is; see `ScoringRetriever.progress`."""
        found = getattr(innermost(self._base), "progress", None)
        return found if isinstance(found, EncodingProgress) else EncodingProgress()

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Wait until the base is complete; see `ScoringRetriever.wait_ready`."""
        wait = getattr(innermost(self._base), "wait_ready", None)
        return True if wait is None else bool(wait(timeout))

    def close(self) -> None:
        """Release the files in which variants are remembered."""
        self.answers.close()

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`; see `skillcue_hooks.protocols.Retriever`.

        The seeds, and so all that the model sees of the library, keep to the query's filters and
        scope. A query that matches nothing is not expanded.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        started = time.perf_counter()
        depth, end = self.settings.depth, query.offset + query.k
        found = self._base.search(replace(query, k=max(depth, end), offset=0))
        expansion = _Expansion(())
        if found.hits:
            expansion = self._expansion(query.text, found.hits)
        hits, total, degraded = found.hits, found.total, [found.degraded, expansion.failure]
        if expansion.variants:
            views = [self._base.search(self._view(query, text)) for text in expansion.variants]
            degraded += [view.degraded for view in views]
            hits, total = self._fused(query, found, views)
        return replace(
            found,
            hits=hits[query.offset : end],
            mode=self._mode,
            fingerprint=self._ranking_fingerprint,
            elapsed_s=time.perf_counter() - started,
            degraded="; ".join(dict.fromkeys(filter(None, degraded))) or None,
            cached=False,
            total=total,
            cost=found.cost + expansion.usage,
        )

    def _view(self, query: Query, text: str) -> Query:
        return replace(query, text=text, k=self.settings.depth, offset=0)

    def _fused(
        self, query: Query, found: Ranking, views: Sequence[Ranking]
    ) -> tuple[tuple[Hit, ...], int]:
        """The whole new ranking, and how many skills match."""
        settings = self.settings
        lists = [[hit.skill.id for hit in ranking.hits[: settings.depth]] for ranking in views]
        lists.insert(0, [hit.skill.id for hit in found.hits[: settings.depth]])
        best = fused(lists, settings.k)[: settings.top]
        own = {hit.skill.id: hit for hit in found.hits}
        others = {hit.skill.id: hit.skill for view in views for hit in view.hits}
        new = {skill_id: others[skill_id] for skill_id, _ in best if skill_id not in own}
        known = self._signals(query, new)
        top = [
            replace(hit, signals={**hit.signals, "fused": gain})
            for skill_id, gain in best
            for hit in (own.get(skill_id) or known.get(skill_id) or Hit(new[skill_id], 0.0, 0),)
        ]
        ids = {skill_id for skill_id, _ in best}
        rest = [hit for hit in found.hits if hit.skill.id not in ids]
        return _rescored([*top, *rest], found.hits), found.total + len(new) - len(known)

    def _signals(self, query: Query, skills: dict[str, Skill]) -> dict[str, Hit]:
        """Hits of the query itself, for skills that only a variant brought up, where it has any."""
        if not skills:
            return {}
        allowed = query.scope
        scope = Scope(
            fingerprint("expand", sorted(skills), allowed.key if allowed else None),
            lambda skill: skill.id in skills and (allowed is None or allowed.allows(skill)),
            allowed.answers if allowed else "",
            ids=frozenset(skills),
        )
        found = self._base.search(replace(query, k=len(skills), offset=0, scope=scope))
        return {hit.skill.id: hit for hit in found.hits}

    def _expansion(self, text: str, hits: Sequence[Hit]) -> _Expansion:
        """The variants of a query, remembered or made."""
        seeds = [hit.skill for hit in hits[: self.settings.seeds]]
        key = self._key(text, seeds)
        remembered = self._remembered(key, text)
        if remembered:
            return _Expansion(remembered)
        failed = self.failures.get(key, time.monotonic(), self.settings.retry_s)
        if failed is not None:
            return _Expansion((), failed)
        reply = ask(self._model, self._question(text, seeds))
        if reply.value is None:
            failed = f"not expanded: {reply.failure}"
            if reply.asked:
                log.warning("mode %s: a query is not expanded: %s", self._mode, reply.failure)
                self.failures.put(key, time.monotonic(), failed)
            return _Expansion((), failed, reply.usage)
        self.answers.put(key, json.dumps({"variants": reply.value}))
        return _Expansion(reply.value, usage=reply.usage)

    def _question(self, text: str, seeds: Sequence[Skill]) -> Question[tuple[str, ...]]:
        settings = self.settings
        return Question(
            SYSTEM,
            prompt_data(text, self._lookup.whole(seeds), settings.query_chars, settings.seed_chars),
            lambda answer: read_variants(answer, text, settings.variant_chars),
            attempts=1 + settings.retries,
            max_tokens=settings.max_tokens,
            timeout_s=settings.timeout_s,
        )

    def _key(self, text: str, seeds: Sequence[Skill]) -> str:
        """Everything that the variants depend on."""
        settings = self.settings
        sizes = (settings.query_chars, settings.seed_chars, settings.variant_chars)
        seen = [skill.content_hash or fingerprint(skill.id, skill.description) for skill in seeds]
        model = self._model.fingerprint
        return fingerprint("expand", PROMPT_VERSION, model, settings.max_tokens, sizes, text, seen)

    def _remembered(self, key: str, text: str) -> tuple[str, ...]:
        """Variants as they were read before; checked again, since others may write to the folder."""
        stored = self.answers.get(key)
        if stored is None:
            return ()
        try:
            return read_variants(stored, text, self.settings.variant_chars)
        except InvalidAnswerError:
            return ()


def fused(lists: Sequence[Sequence[str]], k: int) -> list[tuple[str, float]]:
    """Reciprocal rank fusion: ids with the sum of ``1 / (k + rank)`` over `lists`, best first.

    Ties by id (Cormack, Clarke and Buettcher 2009, equation 1).

    Args:
        lists: Ids, best first, each at most once in a list.
        k: How little the first ranks differ, 0 or more.
    """
    gains: dict[str, list[float]] = {}
    for ids in lists:
        for rank, skill_id in enumerate(ids, start=1):
            gains.setdefault(skill_id, []).append(1.0 / (k + rank))
    sums = {skill_id: math.fsum(parts) for skill_id, parts in gains.items()}
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def build(library: Library, context: RetrieverContext) -> ExpandRetriever:
    """Factory of mode ``expand``.

    Settings are those of `ExpandSettings` and ``base``.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        UnknownModeError: No mode has the name of the base.
        ConfigurationError: A setting is out of range, or there is no language model.
        MissingExtraError: The base needs a package that is not installed.
    """
    given = dict(context.settings)
    base = given.pop("base", default_base(context))
    settings = read_settings(ExpandSettings, given, context.mode, others=("base",))
    model = context.language_model
    if model is None:
        raise ConfigurationError(
            f"Mode {context.mode!r} needs a language model, and none was given.",
            "Pass one: SkillCue(..., llm=model).",
        )
    if not isinstance(base, str) or base == context.mode:
        raise ConfigurationError(
            f"Mode {context.mode!r} cannot have {base!r} as its base.",
            f"Name another mode (default {default_base(context)!r}).",
        )
    ranks = context.retriever(base)
    before = context.previous if isinstance(context.previous, ExpandRetriever) else None
    answers = before.answers if before else open_answers(context.cache_dir)
    failures = before.failures if before else None
    return ExpandRetriever(library, ranks, model, settings, answers, context.mode, base, failures)


build.needs_language_model = True  # type: ignore[attr-defined]  # asked before anything is built


def _rescored(hits: Sequence[Hit], before: Sequence[Hit]) -> tuple[Hit, ...]:
    """`hits` in their order, with the scores that `before` has at the same ranks.

    Equal scores are told apart in their last digit, since ties are broken by id. Where `hits` are
    more, the scores go on below.
    """
    placed: list[Hit] = []
    score = math.inf
    for rank, hit in enumerate(hits, start=1):
        own = before[rank - 1].score if rank <= len(before) else score - 1.0
        score = min(own, math.nextafter(score, -math.inf))
        placed.append(replace(hit, score=score, rank=rank))
    return tuple(placed)
