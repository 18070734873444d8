"""The nouns: frozen records that every part of skillcue exchanges.

All but `RetrieverContext` are hashable; mappings do not count towards the hash.

Nothing here imports anything but the standard library, so a plugin that only needs the types
pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from skillcue_hooks.language import Usage

__all__ = [
    "Advice",
    "Decision",
    "Diagnostic",
    "Hit",
    "Library",
    "LoadedSkill",
    "Query",
    "Ranking",
    "Rejection",
    "RetrieverContext",
    "Scope",
    "Severity",
    "Skill",
    "SourceScan",
    "Trust",
    "Turn",
    "TurnQuery",
    "allow_all",
]

Severity = Literal["info", "warning", "error"]
Trust = Literal["trusted", "untrusted"]
Decision = Literal["offer", "load", "abstain"]


@dataclass(frozen=True, slots=True)
class Skill:
    """One Agent Skill, as every part of skillcue sees it.

    Attributes:
        id: ``name@relative/path``; unique in a library and stable over edits. It always loads
            and is what records store. Blanks and ``@ / %`` in the name are percent-encoded.
        name: The name as written in the file. Loads the precedence winner among equals.
        description: One line of text; the whole of it, however long.
        body: The part of the body that is indexed, bounded by the reader; ``skill_load`` reads
            the rest from the file.
        path: The SKILL.md file; a virtual path for sources that are not folders.
        source: Label of the source it comes from.
        tags: Free labels from the front matter.
        metadata: Further front-matter fields, as text.
        allowed_tools: Tool names the skill asks for, normalised to a tuple.
        content_hash: sha256 (hex) of the whole decoded file with line ends normalised.
        trust: Trust level of its source; untrusted skills are never pushed.
        derived_from: Ids of the skills this one was composed from.
        category: Folders between the source root and the skill, joined with ``/``.
        aliases: Further names under which it loads when they are unique, such as the folder's.
        description_derived: The description was taken from the body, not from the front matter.
        searchable: False keeps it out of lookup and list, and out of push unless the user names
            it; it still loads by name.
        pushable: False keeps it out of push only.
        search_terms: Texts that are indexed as if its description held them, and never shown:
            what ``skillcue augment`` made of the file.
        user_invocable: False: that the user names it is no request for it; nothing else changes.
    """

    id: str
    name: str
    description: str
    body: str = ""
    path: Path = Path("SKILL.md")
    source: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    allowed_tools: tuple[str, ...] = ()
    content_hash: str = ""
    trust: Trust = "trusted"
    derived_from: tuple[str, ...] = ()
    category: str = ""
    aliases: tuple[str, ...] = ()
    description_derived: bool = False
    searchable: bool = True
    pushable: bool = True
    search_terms: tuple[str, ...] = ()
    user_invocable: bool = True


def allow_all(_skill: Skill) -> bool:
    """True: a `Scope` that restricts nothing but its tenants."""
    return True


@dataclass(frozen=True, slots=True)
class Scope:
    """What a policy allows.

    Attributes:
        key: Identifies the answer; part of every cache key, so equal keys must allow the same.
        allows: Called with a `Skill`; False hides it from list, lookup, load and push alike.
        answers: Identifies what `allows` said on this library, once it has been asked. skillcue
            fills it in; with the key it is part of every cache key, so that what was kept under
            older answers is not found any more. Empty over an index, where a policy is asked
            about the skills that are met.
        ids: Where it is known to allow no others; an index then looks for exactly these. None:
            nothing is known.
        tenants: Whose skills of an index exist at all, of those that the `SkillCue` has; None means
            all. The index looks at no others. Skills that are in no index are of tenant ``""``.
    """

    key: str
    allows: Callable[[Skill], bool] = allow_all
    answers: str = ""
    ids: frozenset[str] | None = None
    tenants: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One search.

    Attributes:
        text: What is looked for.
        context: A second view (the conversation or the task around the query); may be empty.
        k: Number of hits wanted, 1 or more; clipped to the size of the library.
        offset: Skip this many hits, 0 or more; asks for more on a miss.
        filters: ``(field, value)`` pairs that must all hold; fields: tag, category (or one
            above it), source, trust.
        scope: What a policy allows; None allows everything.
        task: What the thread is about: the text of its first user turn. Empty where there is no
            thread; then the query is the task. Not part of the key of a cached ranking: a mode
            that goes by it keeps its answers itself and says so (``keeps_answers = True``).
        task_id: The name the user gave the task, such as one of several in a thread; likewise.
        follows: It belongs to a later turn of the thread than the one that `task` is; likewise.
    """

    text: str
    context: str = ""
    k: int = 5
    offset: int = 0
    filters: tuple[tuple[str, str], ...] = ()
    scope: Scope | None = None
    task: str = ""
    task_id: str = ""
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked skill.

    Attributes:
        skill: The skill; without its body where the library is in an index (see `Library.get`).
        score: Higher is better; the scale is documented by the retriever and comparable only
            within one ranking.
        rank: Position in the whole ranking, from 1 (``offset`` hits come before it).
        signals: Named component scores for explain. A retriever that supplies ``z`` (standard
            deviations of the score above the mean of the library, for this query) and
            ``evidence`` (see `skillcue_adapters.bm25`) lets the push gate use them.
    """

    skill: Skill
    score: float
    rank: int
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a `Query`.

    Deterministic where `degraded` is None: ties are broken by skill id.

    Attributes:
        hits: Best first.
        mode: Name of the retriever that answered.
        fingerprint: Identity of retriever settings and library generation (hex).
        elapsed_s: Time spent, seconds.
        degraded: Why a cheaper path answered, else None. A degraded ranking is never cached,
            persisted or used to fit anything.
        cached: It came from a cache.
        total: Number of skills that matched at all.
        cost: What the language model took for this answer; nothing where none was asked, or the
            answer came from a cache.
    """

    hits: tuple[Hit, ...]
    mode: str
    fingerprint: str = ""
    elapsed_s: float = 0.0
    degraded: str | None = None
    cached: bool = False
    total: int = 0
    cost: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Turn:
    """One user turn, read from a list of chat messages.

    Attributes:
        user_text: Text of the user message, without anything skillcue added; empty for turns
            that hold no text (images only).
        context: Text of the turns before it, newest last, bounded.
        message_id: Id of the user message, or a hash where it has none.
        position: Index of the user message in the message list.
        visible_skills: Ids of skills that the messages already show.
        explicit: Ids of skills the user named.
        declined: Ids of skills the user asked not to use.
        earlier: The user turns that `context` is made of, newest last.
        demoted: Skills that were offered twice in this conversation and not loaded, by id, each
            with the evidence that it must have to be offered again.
        task: What the conversation is about: the text of its first user turn that holds any;
            with a `task_id`, of this turn.
        task_id: The name the user gave the task (run-time value ``task_id``), else empty.
    """

    user_text: str
    context: str = ""
    message_id: str = ""
    position: int = 0
    visible_skills: frozenset[str] = frozenset()
    explicit: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    demoted: Mapping[str, float] = field(default_factory=dict, hash=False)
    task: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class TurnQuery:
    """What is searched for on a user turn.

    Attributes:
        text: What the turn asks for; not blank.
        context: The conversation before it; orders the candidates.
    """

    text: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A candidate that was not offered, and why."""

    hit: Hit
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The decision of the push advisor on one turn.

    Attributes:
        decision: ``offer`` (names, reasons and the load call), ``load`` (the body as well) or
            ``abstain`` (nothing is shown).
        hits: What is offered, best first; empty when abstaining.
        text: What the model sees; byte-stable for equal input; empty when abstaining.
        tokens: Estimated size of `text`, tokens.
        confidence: Share of turns that need nothing which look less like needing a skill of this
            library than this one, 0 to 1.
        threshold: What `confidence` had to reach: 1 minus the share of false pushes that is
            accepted.
        reason: One sentence: why it spoke or stayed silent.
        rejected: Candidates that were looked at and not offered.
        mode: The mode that was used.
        elapsed_s: Time spent, seconds.
        turn: The turn it belongs to, None when there was no user turn.
        degraded: Why a cheaper path answered, else None; ``not judged: ...`` where the judge failed
            and the decision is the gate's.
        features: The numbers the gate decided by, for explanations and traces; see
            docs/explanation/push.md. Empty where it was not asked.
        gate: By which gate: plain JSON values, described in docs/reference/traces.md. Empty where
            it was not asked.
        cost: What language models took for this decision; nothing where none was asked.
        shadow: It was decided and not shown to the model.
    """

    decision: Decision
    hits: tuple[Hit, ...] = ()
    text: str = ""
    tokens: int = 0
    confidence: float = 0.0
    threshold: float = 0.0
    reason: str = ""
    rejected: tuple[Rejection, ...] = ()
    mode: str = ""
    elapsed_s: float = 0.0
    turn: Turn | None = None
    degraded: str | None = None
    features: Mapping[str, float] = field(default_factory=dict, hash=False)
    gate: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    cost: Usage = field(default_factory=Usage)
    shadow: bool = False


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """The answer of ``skill_load``.

    Attributes:
        skill: The skill.
        text: One page of the body, or of the file asked for.
        base_dir: Folder that relative paths in the body refer to; None where the source has none.
        files: Files beside SKILL.md, relative POSIX paths, sorted.
        shown: Characters in `text`.
        total: Characters in the whole body or file.
        page: This page, from 1.
        pages: Number of pages.
        file: The file asked for, None for the body.
        findings: What assessors say of the whole file asked for; of the body there are none here.
        elapsed_s: Time spent, seconds; does not count when two answers are compared.
    """

    skill: Skill
    text: str
    base_dir: Path | None = None
    files: tuple[str, ...] = ()
    shown: int = 0
    total: int = 0
    page: int = 1
    pages: int = 1
    file: str | None = None
    findings: tuple[Diagnostic, ...] = ()
    elapsed_s: float = field(default=0.0, compare=False)

    @property
    def trust(self) -> Trust:
        """Of this text: that of the skill, and ``untrusted`` for a file with a finding of severity
        ``error``.
        """
        severe = any(item.severity == "error" for item in self.findings)
        return "untrusted" if severe else self.skill.trust


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that is not clean; nothing vanishes without one.

    Attributes:
        code: Stable kebab-case identifier, documented in docs/reference/diagnostics.md.
        severity: ``error`` when something is missing from the library because of it.
        path: The file or folder.
        line: 1-based line in the file, None where it has none.
        message: What was found.
        remedy: What to do about it.
    """

    code: str
    severity: Severity
    path: Path
    line: int | None
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SourceScan:
    """What a source holds now.

    Attributes:
        skills: In the source's own precedence order, best first.
        diagnostics: Everything that is not clean.
        fingerprint: Changes whenever skills or diagnostics change.
    """

    skills: tuple[Skill, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """What a retriever indexes: an immutable list of skills.

    Attributes:
        generation: Changes whenever any skill changes; part of every cache key.
        skills: Searchable skills, sorted by id. Of a library in an index each walk over them reads
            the index in batches; nothing may need all of them to answer one query.
        index: The `skillcue_hooks.skill_index.SkillIndex` that holds them, where they are not in
            memory: retrievers ask it for candidates.
        tenants: Whose skills of the index they are.
    """

    generation: str
    skills: Sequence[Skill]
    index: Any = field(default=None, compare=False, repr=False)
    tenants: tuple[str, ...] = ()

    def get(self, ids: Sequence[str]) -> Mapping[str, Skill]:
        """Its skills by id; ids that it does not have are left out."""
        if self.index is not None:
            found: Mapping[str, Skill] = self.index.fetch(ids, self.tenants)
            return {i: skill for i, skill in found.items() if skill.searchable}
        wanted = set(ids)
        return {skill.id: skill for skill in self.skills if skill.id in wanted}


@dataclass(frozen=True, slots=True)
class RetrieverContext:
    """What a retriever factory may use besides the library.

    Attributes:
        mode: The name the retriever is registered under.
        settings: Settings of this mode, as the user gave them.
        previous: The retriever of the same mode over the generation before, for incremental
            work; None the first time. It must not be changed.
        retriever: Gives the retriever of another mode over the same library, so that one mode
            can be the first stage of another.
        cache_dir: Folder for persisted indexes, None when the user named none.
        encoder: Opens an `Encoder` by spec (such as ``"minilm"``) or takes an object that is one;
            None gives the one the user chose for all modes. Opened once, shared by all modes.
        defaults: What the user set for all modes, such as ``bodies``; a setting of the same name
            in `settings` goes before it.
        language_model: The model the user gave for modes that need one; None when there is none.
    """

    mode: str
    settings: Mapping[str, Any]
    previous: Any | None
    retriever: Callable[[str], Any]
    cache_dir: Path | None = None
    encoder: Callable[[Any], Any] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    language_model: Any | None = None
