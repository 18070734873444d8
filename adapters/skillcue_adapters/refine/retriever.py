"""Mode ``refine``: skills that a language model composed for the task, in front of the base ranking.

A task is refined once. Its key is the text of the thread's first user turn (`Query.task`), whatever
its blanks and line ends, or the name that the user gave it (`Query.task_id`), with the settings, the
model, the prompt's version and what the policy allows. What was composed is used again while every
skill that was read for it is unchanged; else it is made anew. Any failure leaves the base ranking, and
`Ranking.degraded` says why.

On the task itself the refined skills come first. On what follows in the thread they stand where the
best of their parents would, so that a turn about something else is not answered by the task. Either
way they carry the signals of that parent, and take the place of all of them.

Refinement once a task, by a sub-agent, is `liu_refined` of SkillSeek
(https://arxiv.org/abs/2609.38822, section 4.1 and appendix D), after Liu et al.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from skillcue_adapters.refine.commands import Commands
from skillcue_adapters.refine.composed import may_see, read_ids, with_parents
from skillcue_adapters.refine.merging import merged_hits
from skillcue_adapters.refine.names import policy_tag
from skillcue_adapters.refine.prompt import PROMPT_VERSION
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.refine.store import RefinedStore, Refinement
from skillcue_adapters.refine.subagent import Watch, refine_task
from skillcue_adapters.settings import read_settings
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_adapters.stages import default_base, innermost
from skillcue_hooks.contracts import Library, Query, Ranking, RetrieverContext, Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import Usage
from skillcue_hooks.protocols import LanguageModel, Retriever

__all__ = ["RefineRetriever", "build"]

VERSION = 1
"""Part of the fingerprint; raised whenever the same refinement gives other rankings."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a refinement works with."""

    library: Library
    context: RetrieverContext
    base: Retriever
    model: LanguageModel
    settings: RefineSettings
    store: RefinedStore


class RefineRetriever:
    """See the package. Hits of refined skills carry the signals of their best-ranked parent.

    Attributes:
        fingerprint: Identity of algorithm, settings, prompt, base and model.
        generation: Of the library.
        base_mode: The mode whose ranking this one changes; what the push gate is fitted to.
        keeps_answers: No cache of rankings goes around it: it keeps its own.
        store: Where refinements live; the next generation takes it over.
    """

    keeps_answers = True

    def __init__(self, parts: _Parts, base_mode: str) -> None:
        self.generation = parts.library.generation
        self.base_mode = base_mode
        self.store = parts.store
        self._parts = parts
        self._lookup = SkillLookup(parts.library)
        self._identity = fingerprint(
            asdict(parts.settings), parts.base.fingerprint, parts.model.fingerprint, PROMPT_VERSION
        )
        self.fingerprint = fingerprint("refine", VERSION, self._identity)
        self._ranking_fingerprint = fingerprint(self.fingerprint, self.generation)

    @property
    def progress(self) -> Any:
        """How far the base is; see `ScoringRetriever.progress`."""
        return getattr(innermost(self._parts.base), "progress", None)

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Wait until the base is complete; see `ScoringRetriever.wait_ready`."""
        wait = getattr(innermost(self._parts.base), "wait_ready", None)
        return True if wait is None else bool(wait(timeout))

    def search(self, query: Query) -> Ranking:
        """Rank the library for `query`, refined skills among it.

        A query with filters is answered by the base: no refined skill has tags or a category.

        Raises:
            ConfigurationError: A filter names a field that cannot be filtered by.
        """
        started = time.perf_counter()
        base = self._parts.base
        if query.filters or not (query.task or query.text).strip():
            return self._answer(base.search(query), started)
        made = self.refinement(query)
        cost = Usage() if made.cached else made.cost
        skills = self._visible(made, query)
        if made.failure is not None or not skills:
            why = f"not refined: {made.failure or 'its skills may not be seen'}"
            found = base.search(query)
            degraded = "; ".join(filter(None, (found.degraded, why)))
            return self._answer(replace(found, degraded=degraded, cost=found.cost + cost), started)
        found = merged_hits(base, query, skills, own=not query.follows)
        found = replace(found, cost=found.cost + cost, cached=made.cached)
        return self._answer(found, started)

    def refinement(self, query: Query, watch: Watch | None = None) -> Refinement:
        """What was or is now composed for the task of `query`; asks the model at most once a task.

        Args:
            query: Whose task it is.
            watch: Called with each step that is done now.
        """
        key = self._key(query)
        store, settings = self._parts.store, self._parts.settings
        with store.alone(key):
            known = store.get(key)
            if known is not None and self._holds(known, query):
                return replace(known, cached=True)
            failed = store.failure(key, time.monotonic(), settings.retry_s)
            if failed is not None and self._holds(failed, query):
                return replace(failed, cached=True)
            with store.alone_on_disk(key, settings.seconds):
                known = store.stored(key)  # another process may have been faster
                if known is not None and self._holds(known, query):
                    return replace(known, cached=True)
                return self._made(key, query, watch)

    def _made(self, key: str, query: Query, watch: Watch | None) -> Refinement:
        store = self._parts.store
        made = self._refined(query, watch)
        if made.failure is not None:
            store.failed(key, time.monotonic(), made)
            return made
        return store.put(key, made, policy_tag(query.scope))

    def _refined(self, query: Query, watch: Watch | None) -> Refinement:
        parts = self._parts
        commands = Commands(parts.library, parts.context.retriever, query.scope, parts.settings)
        task = query.task or query.text
        return refine_task(task, parts.model, commands, parts.settings, watch=watch)

    def _key(self, query: Query) -> str:
        text = query.task or query.text
        task = ["id", query.task_id] if query.task_id else ["text", _without_layout(text)]
        scope = "" if query.scope is None else query.scope.key
        return fingerprint("refinement", VERSION, task, self._identity, scope)

    def _holds(self, made: Refinement, query: Query) -> bool:
        """Every skill that was read is as it was, and none that was shown is hidden now."""
        skills = self._lookup.get(made.found.union(made.read))
        for skill_id, content_hash in made.read.items():
            skill = skills.get(skill_id)
            if skill is None or skill.content_hash != content_hash:
                return False
        scope = query.scope
        return scope is None or all(scope.allows(skill) for skill in skills.values())

    def _visible(self, made: Refinement, query: Query) -> Sequence[Skill]:
        find = self._lookup.get(one for skill in made.skills for one in read_ids(skill)).get
        present = (with_parents(skill, find) for skill in made.skills)
        return [s for s in present if s is not None and may_see(s, query.scope, find)]

    def _answer(self, ranking: Ranking, started: float) -> Ranking:
        return replace(
            ranking,
            mode=self._parts.context.mode,
            fingerprint=self._ranking_fingerprint,
            elapsed_s=time.perf_counter() - started,
        )


def _without_layout(task: str) -> str:
    """Equal for texts that differ in blanks, line ends and the encoding of accents, not in case."""
    return " ".join(unicodedata.normalize("NFC", task).split())


def build(library: Library, context: RetrieverContext) -> RefineRetriever:
    """Factory of mode ``refine``; asks no model.

    Settings are those of `RefineSettings` and ``base``.

    Raises:
        UnknownSettingError: `context.settings` holds another name.
        UnknownModeError: No mode has the name of the base.
        ConfigurationError: A setting is out of range, or there is no language model.
    """
    given = dict(context.settings)
    base = given.pop("base", default_base(context))
    settings = read_settings(RefineSettings, given, context.mode, others=("base",))
    if not isinstance(base, str) or base == context.mode:
        raise ConfigurationError(
            f"Mode {context.mode!r} cannot have {base!r} as its base.",
            f"Name another mode (default {default_base(context)!r}).",
        )
    if context.language_model is None:
        raise ConfigurationError(
            f"Mode {context.mode!r} needs a language model.", "Pass one: SkillCue(..., llm=model)."
        )
    previous = context.previous
    if isinstance(previous, RefineRetriever):
        store = previous.store
    else:
        store = RefinedStore(context.cache_dir)
    model = context.language_model
    parts = _Parts(library, context, context.retriever(base), model, settings, store)
    return RefineRetriever(parts, base)


build.needs_language_model = True  # type: ignore[attr-defined]  # asked before anything is built
