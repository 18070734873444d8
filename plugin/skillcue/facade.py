"""`SkillCue`: one library, one index, one decision object."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from skillcue import builtin
from skillcue.caches import CacheSpec, open_cache
from skillcue.composed import ComposedSkills
from skillcue.encoders import DEFAULT_ENCODER, EncoderPool
from skillcue.engine import Engine
from skillcue.file_assessment import FileAssessor
from skillcue.indexed.connect import IndexSpec, named_index
from skillcue.indexed.live import live_index
from skillcue.indexed.source import SkillChangedError
from skillcue.library.live import LiveLibrary
from skillcue.library.protocols import Live, Snapshot
from skillcue.library.snapshot import Enrich
from skillcue.loading import load_skill
from skillcue.mode import named_task, requested_mode
from skillcue.policy import SettledScopes, combined_scope, within_scope, within_tenants
from skillcue.pull import PullTools
from skillcue.push.advisor import Advisor
from skillcue.push.fitting import FIT_WAIT_S, Fitted, GateFits
from skillcue.push.judge import Judge, open_judge
from skillcue.push.settings import PushSettings
from skillcue.registry import registered_factories
from skillcue.sources import SourceSpec, open_sources
from skillcue.traces.settings import TraceSpec, trace_settings
from skillcue_hooks.contracts import (
    Advice,
    Diagnostic,
    LoadedSkill,
    Query,
    Ranking,
    Scope,
    Skill,
    Trust,
    Turn,
)
from skillcue_hooks.dense_leg import DenseLeg
from skillcue_hooks.errors import (
    AttachError,
    ConfigurationError,
    IndexUnavailableError,
    StrictLibraryError,
    UnknownSettingError,
)
from skillcue_hooks.language import Usage
from skillcue_hooks.manager import build_manager
from skillcue_hooks.protocols import LanguageModel, SkillSource

if TYPE_CHECKING:
    from skillcue.successors.settings import NextSettings
    from skillcue.successors.successors import Successors
    from skillcue.successors.suggestions import NextSkill
    from skillcue.telemetry.observer import EventObserver
    from skillcue.telemetry.settings import EventSpec
    from skillcue.traces.observer import TraceObserver
    from skillcue_adapters.language_models import MeteredLanguageModel
    from skillcue_adapters.refine.store import Refinement, Step
    from skillcue_adapters.scoring import EncodingProgress

__all__ = ["DEFAULT_MODE", "SkillCue"]

DEFAULT_MODE = "skillsight"

MODE_OVER_STORES = "hybrid"
"""The default mode with ``vectors=``: a store gives a list, not the vectors that others need."""

LIST_PART = 1000
"""Skills that `SkillCue.list` asks an index for at once."""

log = logging.getLogger("skillcue")


class SkillCue:
    """A library of skills, ready to be asked (pull) and to advise (push).

    Building one checks that the sources exist; files are read and the index is built when it is
    first used, or at once with ``wait=True``. Safe to share between threads, agents and event
    loops.

    Args:
        sources: A folder of skills, a skill's own folder, or several of them, earlier ones
            taking precedence; also texts that name a git repository, an archive, a database or an
            MCP server, texts that a plugin opens, and `SkillSource` objects. Or an index that
            several processes share: ``postgresql://...``, an `Indexed`, a `SkillIndex`.
        mode: Default retrieval mode; None is ``skillsight``, and ``hybrid`` with `vectors`.
        encoder: Turns text into vectors: ``minilm``, ``static``, ``onnx:/path``,
            ``st:model-or-path``, a scheme of a plugin, or an `Encoder`, a LangChain ``Embeddings``
            or a LlamaIndex ``BaseEmbedding``. Nothing is downloaded.
        vectors: A vector store of yours in place of an encoder: it embeds, keeps and searches
            the vectors, and all else stays here. See `skillcue.langchain.from_vectorstore`,
            `skillcue.llamaindex.from_llamaindex` and `skillcue.langgraph.from_store`.
        bodies: ``lexical`` searches bodies by their words; ``all`` also encodes them in chunks,
            about nine a skill, which takes that much longer.
        cross_encoder: Reads query and skill together, for mode ``two_stage``: ``onnx:/path``,
            ``st:model-or-path``, ``lm:model-or-path``, a `PairScorer`, a LangChain document
            compressor or a LlamaIndex node postprocessor.
        cache: None caches rankings in memory; a folder adds a cache and an index on disk that
            survive restarts; `SharedCache` adds a LangGraph ``BaseCache`` that machines share; a
            `CacheStore` is used as it is; False caches nothing.
        trust: Trust level of the folders passed here. Untrusted skills are never pushed.
        wait: Read the library and complete the default index before returning. Without it a
            large library is encoded in the background, and answers are lexical until then.
        nudge: For agents without push: add two short instructions, to the system prompt and to
            the first user message of a request, that make models use the pull tools.
        strict: Reject files that are not clean, and raise if there are any.
        push: Limits and thresholds of the advisor.
        modes: Settings by mode name, such as ``{"bm25": {"k1": 1.2}}``.
        plugins: Plugin objects, besides installed ones.
        block_plugins: Names of plugins that are not loaded.
        recheck: When files are looked at again: ``auto`` before every turn while that is quick,
            else in the background; ``always``; ``background``; ``manual`` (only `refresh`).
        traces: Record every decision of push and what was loaded after it: a file, an object
            with ``write(record)``, or `TraceSettings`. Without message texts unless those say so.
        events: Store every decision, lookup and load in a SQLite file, for ``skillcue stats``: its
            path, or `EventSettings`. Without message texts unless those say so.
        shadow: Push decides and records, and adds nothing to any request. Pull is as always.
        llm: The language model of modes that need one: ``openai:MODEL@http://host:port/v1``, a
            LangChain chat model, a LlamaIndex ``LLM``, a function ``(system, prompt) -> str``, or
            a `LanguageModel`.
        prices: What it costs: model name to money for a million tokens in and out.
        augment: Search what ``skillcue augment`` has put into the folder `cache` as well.
        lock: A lock file of ``skillcue lock``; what differs from it is in `diagnostics`. Read once.
        frozen: Serve only skills that are as the lock file has them, down to the files beside them.
        next_skills: Suggest after a load which skill often follows, where `events` show that this is
            right more often than search, and what skill files say of others: True, or
            `NextSettings`. Needs `events`.

    Raises:
        LibraryNotFoundError: A source does not exist.
        UnknownModeError: `mode` or a key of `modes` is not registered.
        UnknownSettingError: A keyword that no setting has.
        ConfigurationError: An argument has the wrong type.
        StrictLibraryError: ``strict=True``, ``wait=True`` and a file is not clean.
        PluginError: A plugin breaks the contract of a hook.

    Example:
        >>> with SkillCue("examples/skills") as cue:
        ...     cue.lookup("fill in a pdf form", k=1).hits[0].skill.name
        'pdf-form-filling'
    """

    def __init__(
        self,
        sources: SourceSpec | IndexSpec | Iterable[SourceSpec | IndexSpec],
        *,
        mode: str | None = None,
        encoder: Any = DEFAULT_ENCODER,
        vectors: DenseLeg | None = None,
        bodies: Literal["lexical", "all"] = "lexical",
        cross_encoder: Any = None,
        cache: CacheSpec = None,
        trust: Trust = "trusted",
        wait: bool = False,
        nudge: bool = False,
        strict: bool = False,
        push: PushSettings | None = None,
        modes: Mapping[str, Mapping[str, Any]] | None = None,
        plugins: Sequence[object] = (),
        block_plugins: Sequence[str] = (),
        recheck: Literal["auto", "always", "background", "manual"] = "auto",
        traces: TraceSpec | None = None,
        events: EventSpec | None = None,
        shadow: bool = False,
        llm: Any = None,
        prices: Mapping[str, tuple[float, float]] | None = None,
        augment: bool = False,
        lock: str | os.PathLike[str] | None = None,
        frozen: bool = False,
        next_skills: bool | NextSettings = False,
        **unknown: Any,
    ) -> None:
        if unknown:
            known = inspect.signature(SkillCue).parameters
            raise UnknownSettingError(next(iter(unknown)), [n for n in known if n != "unknown"])
        if trust not in ("trusted", "untrusted"):
            raise ConfigurationError(f"trust is {trust!r}.", 'Use "trusted" or "untrusted".')
        if bodies not in ("lexical", "all"):
            raise ConfigurationError(f"bodies is {bodies!r}.", 'Use "lexical" or "all".')
        if not isinstance(shadow, bool):
            raise ConfigurationError(f"shadow is {shadow!r}.", "Use True or False.")
        _check_types(push, modes, plugins, block_plugins)
        if vectors is not None:
            _check_vectors(vectors, mode, encoder, bodies)
        self._language_model = _language_model(llm, prices)
        self.push = push or PushSettings()
        self.shadow = shadow
        self._generation: str | None = None  # of the newest snapshot that anyone was given
        self._traces = self._observer(traces)
        self._events = self._event_observer(events)
        self._successors = self._open_successors(next_skills, events)
        watching = {"traces": self._traces, "events": self._events}
        recording = {name: observer for name, observer in watching.items() if observer}
        self.plugins = build_manager({**builtin.plugins(), **recording}, plugins, block_plugins)
        self.nudge = nudge
        standard = DEFAULT_MODE if vectors is None else MODE_OVER_STORES
        self.default_mode = mode = standard if mode is None else mode
        self._strict = strict
        store, cache_dir = open_cache(cache)
        encoders = EncoderPool(registered_factories(self.plugins, "encoder"), encoder)
        self._engine = Engine(
            registered_factories(self.plugins, "mode"),
            dict(modes or {}),
            store,
            cache_dir,
            encoders.open,
            {"bodies": bodies, "cross_encoder": cross_encoder, "vectors": vectors},
            self._language_model,
        )
        self._engine.check_mode(mode)
        if mode != standard:
            self._engine.check_language_model(mode)
        self._fits = GateFits(cache_dir)
        self._composed = ComposedSkills(cache_dir, self._assess)
        self._judge = open_judge(self.push.judge, self.language_model("judge"), cache_dir)
        index = named_index(sources)
        self._live: Live
        if index is not None:
            if vectors is not None:
                raise ConfigurationError(
                    "vectors and an index are both given.",
                    "The index holds the vectors: leave vectors out.",
                )
            _check_indexed(trust, strict, augment, lock, frozen)
            self._live = live_index(index, recheck, self._composed)
        else:
            opened = open_sources(
                cast("SourceSpec | Iterable[SourceSpec]", sources),  # no index is among them
                trust=trust,
                strict=strict,
                plugins=self.plugins,
                cache_dir=cache_dir,
            )
            self._live = LiveLibrary(
                _held_to_lock(opened, lock, frozen),
                assess=self._assess if self._has_assessors() else None,
                enrich=_enricher(augment, cache_dir),
                recheck=recheck,
                composed=self._composed,
            )
        self._file_assessor = FileAssessor(self.plugins)
        self._scopes = SettledScopes()
        seen = replace(self.push, load_tokens=0) if shadow else self.push
        self._advisor = Advisor(self, seen, "skill_load", shadow=shadow)
        if wait:
            try:
                self.wait_ready()
            except BaseException:  # nobody holds what would have to be closed
                self.close()
                raise

    # pull

    def lookup(
        self,
        text: str,
        k: int = 5,
        mode: str | None = None,
        context: str = "",
        offset: int = 0,
        *,
        filters: Mapping[str, str] | None = None,
        run_context: Mapping[str, Any] | None = None,
        task: str = "",
    ) -> Ranking:
        """Search the library.

        Args:
            text: What is looked for.
            k: Number of hits, 1 or more.
            mode: Retrieval mode; None takes ``with skill_mode(...)``, then plugins, then the
                default.
            context: A second view: the conversation or task the search is made for.
            offset: Hits to skip, 0 or more.
            filters: Fields that must match: tag, category, source, trust.
            run_context: Run-time values for policy plugins; ``task_id`` in them names the task.
            task: What the thread is about that the search is made in, for modes that work once a
                task; empty where `text` itself is the task.

        Raises:
            UnknownModeError: The mode is not registered.
            ConfigurationError: `k` or `offset` is out of range, or a filter field is unknown.
        """
        _check_text("text", text)
        if not isinstance(k, int) or not isinstance(offset, int) or k < 1 or offset < 0:
            raise ConfigurationError(
                f"k is {k!r} and offset is {offset!r}.",
                "Use whole numbers: k from 1 and offset from 0.",
            )
        wrong = set(filters or {}) - {"tag", "category", "source", "trust"}
        if wrong:
            raise UnknownSettingError(min(wrong), ("tag", "category", "source", "trust"))
        snapshot, scope = self.seen(run_context or {})
        task_id = named_task(run_context)
        query = Query(
            text,
            context=context,
            k=k,
            offset=offset,
            filters=tuple(sorted((filters or {}).items())),
            scope=scope,
            task=task or text,
            task_id=task_id,
            follows=task not in ("", text),
        )
        turn = Turn(text, context, task=query.task, task_id=task_id)
        chosen = requested_mode(mode) or self.choose_mode(turn, snapshot)
        ranking = self.search(query, chosen, snapshot)
        self.plugins.notify(
            "skillcue_looked_up", query=query, ranking=ranking, context=run_context or {}
        )
        return ranking

    def refinement(
        self,
        task: str,
        task_id: str = "",
        *,
        run_context: Mapping[str, Any] | None = None,
        watch: Callable[[Step], None] | None = None,
    ) -> Refinement:
        """What mode ``refine`` composed for a task, step by step; made now where it is not known.

        `lookup` in that mode gives the ranking that comes of it.

        Args:
            task: What is to be done.
            task_id: The name of the task, where it has one.
            run_context: Run-time values for policy plugins.
            watch: Called with each step when it is done, in this thread; must not raise.

        Raises:
            ConfigurationError: There is no language model, or a setting of the mode is wrong.
        """
        _check_text("task", task)
        snapshot, scope = self.seen(run_context or {})
        retriever = self._engine.bare_retriever("refine", snapshot.library)
        made = retriever.refinement(Query(task, scope=scope, task_id=task_id), watch)
        return self._composed.settled_refinement(made, snapshot, scope)

    def load(
        self,
        name: str,
        file: str | None = None,
        page: int = 1,
        *,
        run_context: Mapping[str, Any] | None = None,
    ) -> LoadedSkill:
        """Read a skill, or a file beside it, which assessors look at first.

        Args:
            name: A name as listed, or an id.
            file: Path relative to the skill's folder; None for the skill itself.
            page: Page of a long text, from 1.
            run_context: Run-time values for policy plugins.

        Raises:
            SkillNotFoundError: No visible skill has that name.
            SkillFileError: The file or page does not exist.
        """
        _check_text("name", name)
        started = time.perf_counter()
        context = run_context or {}
        assess = self._file_assessor.findings
        try:
            loaded = load_skill(*self.seen(context), name, file, page, assess)
        except SkillChangedError:  # between finding and reading it; what is new may be read
            self._live.refresh()
            loaded = load_skill(*self.seen(context), name, file, page, assess)
        loaded = replace(loaded, elapsed_s=time.perf_counter() - started)
        self.plugins.notify("skillcue_loaded", loaded=loaded, context=context)
        return loaded

    def next_skills(
        self,
        name: str,
        *,
        run_context: Mapping[str, Any] | None = None,
        messages: Sequence[Any] = (),
        load_tool: str = "skill_load",
    ) -> tuple[NextSkill, ...]:
        """What is suggested after a skill was loaded, as ``skill_load`` shows it.

        What was learned is given only where it was right more often than search. It counts as shown
        to the conversation that `run_context` or `messages` name. Never waits for the fit.

        Args:
            name: A name as listed, or an id.
            run_context: Run-time values for policy plugins; ``thread_id`` names the conversation.
            messages: The conversation; skills that stand in it are not suggested.
            load_tool: Name of the load tool in it.

        Raises:
            SkillNotFoundError: No visible skill has that name.
            ConfigurationError: ``next_skills`` is off.
        """
        _check_text("name", name)
        if self._successors is None:
            raise ConfigurationError(
                "next_skills is off.", 'Pass next_skills=True and events="events.db" to SkillCue.'
            )
        context = run_context or {}
        snapshot, scope = self.seen(context)
        skill = snapshot.resolve(name, scope)
        return self._successors.suggest(skill, snapshot, scope, context, messages, load_tool)

    @property
    def suggests_next(self) -> bool:
        """Whether ``next_skills`` is on."""
        return self._successors is not None

    def list(self, *, run_context: Mapping[str, Any] | None = None) -> tuple[Skill, ...]:
        """All searchable skills, by name and id."""
        snapshot, scope = self.seen(run_context or {})
        in_memory = snapshot.library.index is None
        count = max(len(snapshot.library.skills), 1) if in_memory else LIST_PART
        skills: list[Skill] = []
        more, start = True, 0
        while more:
            part = snapshot.listing(scope, start, count)
            skills += part.skills
            start, more = start + count, part.more
        return tuple(skills)

    def tools(self, prefix: str = "") -> PullTools:
        """The pull tools as plain functions that return text, for any framework.

        Args:
            prefix: Put in front of the tools' names.
        """
        return PullTools(self, prefix)

    # push

    def advise(
        self,
        messages: Sequence[Any],
        mode: str | None = None,
        *,
        run_context: Mapping[str, Any] | None = None,
    ) -> Advice:
        """The decision on the newest user turn of `messages`.

        Args:
            messages: LangChain or LlamaIndex messages, or OpenAI-style dicts.
            mode: Retrieval mode; None as in `lookup`.
            run_context: Run-time values for policy plugins.

        Raises:
            UnknownModeError: The mode is not registered. Other failures give no advice.
        """
        plan = self._advisor.plan(messages, mode=requested_mode(mode), run_context=run_context)
        return plan.advice

    def advisor(self, load_tool: str | None) -> Advisor:
        """An advisor with a memory of its own, as the framework integrations use it.

        Args:
            load_tool: Name of the load tool the agent has, None when it has none.
        """
        return Advisor(self, self.push, load_tool, shadow=self.shadow)

    def attach(self, target: Any, **options: Any) -> Any:
        """Insert the pull tools and the push advisor into an agent.

        Args:
            target: A LangGraph ``StateGraph`` builder (``model="node"`` and ``tools="node"`` name
                its nodes), a LlamaIndex agent or ``AgentWorkflow``, or what a plugin knows.
            options: For the plugin that takes the target.

        Returns:
            The object to use from now on.

        Raises:
            AttachError: Nobody knows such a target, or it lacks what is needed.
        """
        attached = self.plugins.hook.skillcue_attach(target=target, cue=self, options=options)
        if attached is None:
            raise AttachError(
                f"Nothing knows how to attach to {type(target).__module__}."
                f"{type(target).__qualname__}.",
                "Pass a StateGraph builder, a LlamaIndex agent or an AgentWorkflow; for "
                "create_agent and deepagents pass middleware=[SkillMiddleware(cue)].",
            )
        return attached

    # language model

    def language_model(self, mode: str) -> LanguageModel | None:
        """The model given as `llm`, whose calls are then counted for `mode`; None without one."""
        return self._language_model and self._language_model.for_mode(mode)

    @property
    def language_model_usage(self) -> dict[str, Usage]:
        """What all calls of the language model took together, by the mode that asked."""
        return {} if self._language_model is None else self._language_model.usage

    # library

    @property
    def sources(self) -> tuple[SkillSource, ...]:
        """Where the skills come from, in order of precedence. A source that was fetched says in
        ``digest`` what it holds: ``git:<commit>`` or ``sha256:<hex>``.
        """
        return self._live.sources

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the registered modes, sorted."""
        return self._engine.modes

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything in the library that is not clean."""
        return self.snapshot().diagnostics

    def refresh(self) -> bool:
        """Look at the files now; True when they changed since anything was last answered."""
        before, self._generation = self._generation, self._live.refresh().generation
        return before is not None and before != self._generation

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Read the library and complete the index of the default mode, and with `next_skills`
        learn from what is stored.

        Args:
            timeout: Seconds to wait; None waits until it is done.

        Returns:
            Whether it is ready; False after `timeout`, or when encoding failed, which
            `Ranking.degraded` of a lookup explains.

        Raises:
            StrictLibraryError: ``strict=True`` and a file is not clean.
        """
        ready = False
        failures: list[Exception] = []

        def work() -> None:
            nonlocal ready
            try:
                ready = self._make_ready()
            except Exception as error:  # noqa: BLE001  # carried over to the caller's thread
                failures.append(error)

        thread = threading.Thread(target=work, name="skillcue-ready", daemon=True)
        thread.start()
        thread.join(timeout)
        if failures:
            raise failures[0]
        return ready

    def progress(self) -> EncodingProgress | None:
        """How far the encoding for the default mode is; None as long as nobody has asked for it,
        and for a mode that encodes nothing.
        """
        return self._engine.progress(self.default_mode, self.snapshot().library)

    def close(self) -> None:
        """Stop background work and release the cache, the traces and the events."""
        self._live.close()
        self._fits.close()
        if self._successors is not None:
            self._successors.close()
        if self._judge is not None:
            self._judge.close()
        self._engine.close()
        for observer in (self._traces, self._events):
            if observer is not None:
                observer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # asynchronous twins: the same work in a worker thread, context variables included

    async def alookup(self, text: str, *args: Any, **kwargs: Any) -> Ranking:
        """`lookup` off the event loop."""
        return await asyncio.to_thread(self.lookup, text, *args, **kwargs)

    async def aload(self, name: str, *args: Any, **kwargs: Any) -> LoadedSkill:
        """`load` off the event loop."""
        return await asyncio.to_thread(self.load, name, *args, **kwargs)

    async def anext_skills(self, name: str, **kwargs: Any) -> tuple[NextSkill, ...]:
        """`next_skills` off the event loop."""
        return await asyncio.to_thread(self.next_skills, name, **kwargs)

    async def aadvise(self, messages: Sequence[Any], *args: Any, **kwargs: Any) -> Advice:
        """`advise` off the event loop."""
        return await asyncio.to_thread(self.advise, messages, *args, **kwargs)

    def _observer(self, traces: TraceSpec | None) -> TraceObserver | None:
        if traces is None:
            return None
        from skillcue.traces.observer import TraceObserver

        return TraceObserver(
            trace_settings(traces),
            push=self.push,
            generation=lambda: self._generation or "",
            shadow=self.shadow,
        )

    def _event_observer(self, events: EventSpec | None) -> EventObserver | None:
        if events is None:
            return None
        from skillcue.telemetry.observer import EventObserver
        from skillcue.telemetry.settings import event_settings

        return EventObserver(
            event_settings(events), push=self.push, generation=lambda: self._generation or ""
        )

    def _open_successors(
        self, spec: bool | NextSettings, events: EventSpec | None
    ) -> Successors | None:
        if spec is False:  # the usual case imports nothing
            return None
        from skillcue.successors.settings import next_settings
        from skillcue.successors.successors import open_successors

        settings = next_settings(spec)
        if settings is None:
            return None
        return open_successors(settings, events, self._events, self.snapshot)

    # what push builds on (`skillcue.push.decide.PushHost`)

    @property
    def judge(self) -> Judge | None:
        """Who is asked about turns that the gate is not sure of; None where nobody is."""
        return self._judge

    def snapshot(self) -> Snapshot:
        """The library now, looked at again when due."""
        snapshot = self._live.snapshot()
        self._generation = snapshot.generation
        return snapshot

    def scope(self, run_context: Mapping[str, Any], snapshot: Snapshot) -> Scope | None:
        """What the policy plugins allow; None when there is no policy."""
        scope = combined_scope(self.plugins, run_context, snapshot.library)
        if snapshot.library.index is not None:
            return self._scopes.over_index(scope, snapshot.generation, snapshot.get)
        asked = itertools.chain(snapshot.skills, snapshot.copies)
        return self._scopes.settle(scope, asked, snapshot.generation)

    def seen(self, run_context: Mapping[str, Any]) -> tuple[Snapshot, Scope | None]:
        """The library now, as far as it exists for whoever asks, and what they may see of it."""
        snapshot = self.snapshot()
        scope = self.scope(run_context, snapshot)
        return within_tenants(snapshot, scope), scope

    def check_mode(self, mode: str) -> str:
        """`mode` itself.

        Raises:
            UnknownModeError: It is not registered.
            ConfigurationError: It needs a language model, and none was given.
        """
        self._engine.check_language_model(self._engine.check_mode(mode))
        return mode

    def choose_mode(self, turn: Turn, snapshot: Snapshot) -> str:
        """The mode of a turn for which nobody named one: a plugin's choice, else the default."""
        if not self.plugins.hook.skillcue_select_mode.get_hookimpls():
            return self.default_mode  # an index need not count its skills for nobody
        chosen = self.plugins.first(
            "skillcue_select_mode",
            turn=turn,
            default=self.default_mode,
            library_size=len(snapshot.library.skills),
        )
        return self._engine.check_mode(chosen) if chosen else self.default_mode

    def search(self, query: Query, mode: str, snapshot: Snapshot) -> Ranking:
        """`query` in `mode` over exactly this snapshot.

        The policy holds even where a retriever does not keep to `Query.scope`.
        """
        scope = query.scope
        ranking = self._searched(query, mode, snapshot)
        if scope is None or all(scope.allows(hit.skill) for hit in ranking.hits):
            return ranking
        log.warning("mode %s does not keep to the scope of a query", mode)
        if snapshot.library.index is not None:  # nobody can ask for all of it
            return within_scope(ranking, replace(query, offset=0), scope)
        everything = replace(query, k=max(len(snapshot.library.skills), 1), offset=0)
        return within_scope(self._searched(everything, mode, snapshot), query, scope)

    def _searched(self, query: Query, mode: str, snapshot: Snapshot) -> Ranking:
        try:
            ranking = self._engine.search(query, mode, snapshot.library)
        except IndexUnavailableError as error:
            self._live.failed(error)
            raise
        return self._composed.settled(ranking, snapshot, query.scope)

    def fitted_gate(self, mode: str, snapshot: Snapshot, *, complete: bool = True) -> Fitted:
        """The push gate, fitted to this snapshot in `mode`; not while its index is not `complete`."""
        base = self._engine.gate_mode(mode, snapshot.library)
        if not complete and base == mode:  # else it may be the model that failed, not the index
            return self._fits.unfitted(mode, snapshot.library)
        retriever = self._engine.bare_retriever(base, snapshot.library)
        return self._fits.fitted(base, snapshot.library, retriever, FIT_WAIT_S)

    def load_name(self, skill: Skill) -> str:
        """The shortest name that loads exactly `skill`."""
        return self.snapshot().load_name(skill)

    def _has_assessors(self) -> bool:
        """Without one, no file is read a second time."""
        return bool(self.plugins.hook.skillcue_assess_skill.get_hookimpls())

    def _assess(self, skill: Skill, text: str) -> tuple[Diagnostic, ...] | None:
        failed: list[Exception] = []
        found = self.plugins.collect(
            "skillcue_assess_skill",
            lambda _plugin, error: failed.append(error),
            skill=skill,
            text=text,
        )
        if failed:  # the library marks a skill untrusted when its assessment raises
            raise failed[0]
        return tuple(item for findings in found for item in findings) or None

    def _make_ready(self) -> bool:
        snapshot = self.snapshot()
        dirty = [d for d in snapshot.diagnostics if d.severity == "error"]
        if self._strict and dirty:
            first = dirty[0]
            raise StrictLibraryError(
                f"{len(dirty)} problems in the library, first {first.path}: {first.message}",
                first.remedy,
            )
        if self._successors is not None:
            self._successors.fit()
        ready = self._engine.wait_ready(self.default_mode, snapshot.library)
        if ready:
            mode = self._engine.gate_mode(self.default_mode, snapshot.library)
            retriever = self._engine.bare_retriever(mode, snapshot.library)
            self._fits.fitted(mode, snapshot.library, retriever, wait=None)
        return ready


def _language_model(llm: Any, prices: Any) -> MeteredLanguageModel | None:
    if llm is None:
        if prices is not None:
            raise ConfigurationError(
                "prices is given without a language model.", "Pass llm=... as well."
            )
        return None
    from skillcue_adapters.language_models import open_language_model  # only where used

    return open_language_model(llm, prices=prices)


def _held_to_lock(
    sources: tuple[SkillSource, ...], lock: str | os.PathLike[str] | None, frozen: bool
) -> tuple[SkillSource, ...]:
    if not isinstance(frozen, bool):
        raise ConfigurationError(f"frozen is {frozen!r}.", "Use True or False.")
    if lock is None:
        if frozen:
            raise ConfigurationError(
                "frozen needs a lock file.", 'Pass lock="skillcue.lock"; `skillcue lock` writes it.'
            )
        return sources
    if not isinstance(lock, str | os.PathLike) or not os.fspath(lock):
        raise ConfigurationError(
            f"lock is {lock!r}.", 'Pass the lock file: lock="skillcue.lock"; None holds to none.'
        )
    from skillcue.locking import locked_sources, read_lock  # only where used

    path = Path(lock)
    return locked_sources(sources, read_lock(path), path, frozen=frozen)


def _check_indexed(trust: str, strict: bool, augment: bool, lock: object, frozen: bool) -> None:
    """What only files have cannot be asked of an index."""
    wrong = {
        "trust": trust != "trusted",
        "strict": strict,
        "augment": augment,
        "lock": lock is not None,
        "frozen": frozen,
    }
    for name in (name for name, given in wrong.items() if given):
        raise ConfigurationError(
            f"{name} is about files, and the skills are in an index.",
            f"Leave it out, and publish with it: `skillcue publish FOLDER --{name} ...`.",
        )


def _enricher(augment: bool, cache_dir: Path | None) -> Enrich | None:
    if not isinstance(augment, bool):
        raise ConfigurationError(f"augment is {augment!r}.", "Use True or False.")
    if not augment:
        return None
    from skillcue.augmented import Augmented  # only where used

    return Augmented(cache_dir)


def _check_text(argument: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ConfigurationError(
            f"{argument} is a {type(value).__name__}.", f"Pass `{argument}` as text."
        )


def _check_vectors(vectors: object, mode: str | None, encoder: object, bodies: str) -> None:
    if not isinstance(vectors, DenseLeg):
        raise ConfigurationError(
            f"vectors is a {type(vectors).__name__}.",
            "Wrap the store: skillcue.langchain.from_vectorstore(store), "
            "skillcue.llamaindex.from_llamaindex(index) or skillcue.langgraph.from_store(store).",
        )
    if mode == DEFAULT_MODE:
        raise ConfigurationError(
            f"Mode {mode!r} needs all vectors at hand, and a vector store keeps them.",
            f'Leave mode out, or name another: mode="{MODE_OVER_STORES}".',
        )
    if encoder != DEFAULT_ENCODER:
        raise ConfigurationError(
            "encoder and vectors are both given.", "The store embeds: leave encoder out."
        )
    if bodies != "lexical":
        raise ConfigurationError(
            f"bodies is {bodies!r}, and vectors are in a store.",
            'It holds one vector a skill: leave bodies at "lexical".',
        )


def _check_types(push: object, modes: object, plugins: object, block_plugins: object) -> None:
    """Find now what would otherwise fail in the middle of a turn, or silently do nothing."""
    if push is not None and not isinstance(push, PushSettings):
        raise ConfigurationError(f"push is a {type(push).__name__}.", "Pass PushSettings(...).")
    if modes is not None and not (
        isinstance(modes, Mapping) and all(isinstance(s, Mapping) for s in modes.values())
    ):
        raise ConfigurationError(
            "modes must hold settings by mode name.", 'Pass modes={"bm25": {"k1": 1.2}}.'
        )
    for name, several in (("plugins", plugins), ("block_plugins", block_plugins)):
        if isinstance(several, str) or not isinstance(several, Iterable):
            raise ConfigurationError(
                f"{name} is a {type(several).__name__}.", f"Pass a list: {name}=[...]."
            )
