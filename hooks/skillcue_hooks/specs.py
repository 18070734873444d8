"""The verbs: every hook, when it fires, what it gets, what it may answer, in which order.

All hooks are called with keyword arguments; an implementation names those it needs. It is a plain
function: an ``async def``, a generator and a hook wrapper are refused when the plugin is
registered, because every implementation is called apart from the others. Implementations run in
last-registered-first order, so a plugin comes before the built-ins; ``@hookimpl(tryfirst=True)``
and ``trylast=True`` change that. Three kinds:

collecting
    Every implementation is called and all answers count.
firstresult
    The first answer that is not None counts.
observer
    Answers are ignored; an implementation that raises is logged and skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillcue_hooks.contracts import (
    Advice,
    Diagnostic,
    Library,
    LoadedSkill,
    Query,
    Ranking,
    Scope,
    Skill,
    Turn,
    TurnQuery,
)
from skillcue_hooks.markers import hookspec
from skillcue_hooks.protocols import Encoder, RetrieverFactory, SkillSource

__all__ = ["HOOK_KINDS", "OBSERVERS", "SkillcueSpecs"]

HOOK_KINDS: Mapping[str, str] = {
    "skillcue_register_retrievers": "collecting",
    "skillcue_register_encoders": "collecting",
    "skillcue_open_source": "firstresult",
    "skillcue_select_mode": "firstresult",
    "skillcue_filter_skills": "collecting",
    "skillcue_assess_skill": "collecting",
    "skillcue_assess_file": "collecting",
    "skillcue_build_query": "firstresult",
    "skillcue_render_advice": "firstresult",
    "skillcue_attach": "firstresult",
    "skillcue_advised": "observer",
    "skillcue_looked_up": "observer",
    "skillcue_loaded": "observer",
}
"""Kind of each hook, as described at the top of this module."""

OBSERVERS = tuple(name for name, kind in HOOK_KINDS.items() if kind == "observer")


class SkillcueSpecs:
    """All hook specifications."""

    @hookspec
    def skillcue_register_retrievers(
        self, register: Callable[[str, str | RetrieverFactory], None]
    ) -> None:
        """Add retrieval modes.

        Fires once, when a `SkillCue` is built. Call ``register("my_mode", factory)``; `factory`
        is a `RetrieverFactory` or the text ``"package.module:factory"``, which is imported only
        when the mode is first used. A name that is already taken is an error that names both
        plugins.
        """

    @hookspec
    def skillcue_register_encoders(
        self, register: Callable[[str, str | Callable[[str], Encoder]], None]
    ) -> None:
        """Add text encoders.

        Fires once, before the first retriever that needs an encoder is built; ``bm25`` needs none.
        Call ``register("scheme", factory)``; the factory gets what stands behind the colon of an
        encoder spec such as ``onnx:/path/to/model``.
        """

    @hookspec(firstresult=True)
    def skillcue_open_source(self, spec: str, cache_dir: Path | None) -> SkillSource | None:
        """Open a source of skills that is not a folder.

        Fires once for each text source that is not an existing folder. Answer a `SkillSource`, or
        None to pass. A spec that nobody opens is a `LibraryNotFoundError`; one that cannot be
        right should raise a `ConfigurationError`. A place that does not answer now is neither: the
        source says so in its scans. Sources opened here should say ``trust = "untrusted"`` unless
        their content is the user's own. `cache_dir` is the folder for what should survive a
        restart, None when the user named none.
        """

    @hookspec(firstresult=True)
    def skillcue_select_mode(self, turn: Turn, default: str, library_size: int) -> str | None:
        """Choose the mode of a turn for which the user named none.

        Fires once a user turn and once a lookup, after every explicit way to name a mode has
        been looked at. Answer a registered mode, or None to pass. A raising implementation is
        logged and `default` is used; an unknown mode is an `UnknownModeError`.
        """

    @hookspec
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Scope | None:
        """Say who may see what.

        Fires before every list, lookup, load and push. `context` holds the run-time values that
        the framework passes along (``configurable``, runtime context, LlamaIndex store keys).
        Answer a `Scope`, or None for no opinion; all scopes must allow a skill. Fails closed: a
        raising implementation hides everything and is logged.
        """

    @hookspec
    def skillcue_assess_skill(self, skill: Skill, text: str) -> tuple[Diagnostic, ...] | None:
        """Report risks found in a skill.

        Fires once for each skill and content hash, when it enters the library. `text` is the
        whole file, front matter and hidden characters included; of a source that has no
        ``read_text(skill)``, name, description and `skill.body`. Any finding of
        severity ``error``, and any exception, makes the skill untrusted: it stays loadable and
        is never pushed. Findings appear in `SkillCue.diagnostics`.
        """

    @hookspec
    def skillcue_assess_file(
        self, skill: Skill, path: Path, text: str
    ) -> tuple[Diagnostic, ...] | None:
        """Report risks found in a text file of a skill.

        Fires before a file that was asked for with ``file=`` is handed out, once for each content
        of it as long as that is remembered. `path` is the file, links resolved; `text` is the whole
        of it, whichever page was asked for, hidden characters included. Any finding of severity
        ``error``, and any exception, makes this text untrusted: it is quoted, and the skill keeps
        its trust. Findings are in `LoadedSkill.findings`; ``skillcue doctor --files`` asks about
        all files. What is no text is not handed out, and not asked about.
        """

    @hookspec(firstresult=True)
    def skillcue_build_query(self, turn: Turn) -> TurnQuery | None:
        """Say what is searched for on a user turn, in place of the built-in reading.

        Fires once for each user turn that is decided, unless it holds no text. Answer a
        `TurnQuery`, or None to pass. `turn.user_text` is the message and `turn.earlier` what the
        user said before. Must depend on nothing but its argument, or a turn that is worked out
        again gets other advice. Each text is searched by its beginning and its end where it is
        longer than the push setting ``query_tokens``. An implementation that raises, or answers
        anything else, is logged and passed. What kind of turn it is, is told from the message
        itself whatever is searched.
        """

    @hookspec(firstresult=True)
    def skillcue_render_advice(self, advice: Advice) -> str | None:
        """Replace the wording of the advice.

        Fires once for each set of offered skills; `advice.hits` are the skills, in order. A skill
        that is loaded at once has a wording of its own, for which this is not asked.
        Must depend on nothing but its argument and must return the same text for the same
        argument, or prompt caching breaks. The answer is put between the fixed delimiters and
        is neutralised like everything else. A raising implementation is logged and the built-in
        wording is used.
        """

    @hookspec(firstresult=True)
    def skillcue_attach(self, target: Any, cue: Any, options: Mapping[str, Any]) -> Any | None:
        """Insert the pull tools and the push advisor into an agent.

        Fires in ``cue.attach(target, **options)``. Answer the object to use from now on (the
        target itself where it is changed in place), or None when the target is not yours.
        """

    @hookspec
    def skillcue_advised(self, advice: Advice, context: Mapping[str, Any]) -> None:
        """Observe one push decision, abstentions included. Fires once a user turn.

        Where push fails before it knows the turn, it fires on each request, and `advice.turn` is
        None.
        `context` holds the run-time values that `skillcue_filter_skills` gets, such as the
        ``thread_id`` of a LangGraph run. Fires in the thread and the context (`contextvars`) that
        the turn is decided in, as soon as it is decided; likewise the other two.
        """

    @hookspec
    def skillcue_looked_up(
        self, query: Query, ranking: Ranking, context: Mapping[str, Any]
    ) -> None:
        """Observe one lookup. Fires after every ``lookup``, cached answers included.

        `context` as in `skillcue_advised`.
        """

    @hookspec
    def skillcue_loaded(self, loaded: LoadedSkill, context: Mapping[str, Any]) -> None:
        """Observe one successful load. Fires after every ``load``.

        `context` as in `skillcue_advised`.
        """
