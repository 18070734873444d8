"""The role of an index that several processes share: a library that is not in memory.

An index stores skills with what ranking needs, gives candidates with the raw facts of each, and
counts. Ranking itself is done by the modes, with the same formulas as over a library in memory.
So an index never has to know what a mode is.

Everything is about *tenants*: each skill belongs to one, and a call names those it is about. What
an index does not know of the tenants that are named does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from skillcue_hooks.contracts import Skill

__all__ = [
    "Candidate",
    "IndexQuery",
    "IndexStatistics",
    "IndexedSkill",
    "Legs",
    "SkillIndex",
    "TermFrequency",
    "View",
]


@dataclass(frozen=True, slots=True)
class IndexedSkill:
    """A skill as an index stores it.

    Attributes:
        skill: The skill; `Skill.body` is the part that is searched.
        text: The whole body, which ``skill_load`` gives.
        head: Terms of name, description and tags, and how often each occurs.
        body: Terms of the searched part of the body, likewise.
        name: Terms of the name, joined by blanks; empty where it has none.
        names: What it answers to: name and aliases, each as it is and folded (see
            `skillcue.library.naming.fold`).
        key: Name of the head's text and the encoder, 32 bytes: what the smallest keys belong to
            is a sample drawn by content.
        vector: Of the head, float32, shape ``(dim,)``, L2-normalised.
        files: Files beside SKILL.md by relative POSIX path.
    """

    skill: Skill
    text: str
    head: Mapping[str, int]
    body: Mapping[str, int]
    name: str
    names: tuple[str, ...]
    key: bytes
    vector: Any
    files: Mapping[str, bytes] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class View:
    """One text that candidates are looked for by.

    Attributes:
        vector: Skills whose vectors have the largest inner product with it are one leg; float32,
            shape ``(dim,)``. None: there is no such leg.
        head: What each term is worth in a head, before saturation and length: idf times weights.
        body: The same for bodies. With `head` they make the second leg, the largest sums of
            BM25; both empty: there is no such leg.
        names: Skills whose `IndexedSkill.name` is one of these are candidates as well.
    """

    vector: Any = None
    head: Mapping[str, float] = field(default_factory=dict, hash=False)
    body: Mapping[str, float] = field(default_factory=dict, hash=False)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """What candidates are wanted.

    Attributes:
        views: One or two: the text, and the context.
        depth: Candidates of each leg, 1 or more.
        tenants: Whose skills; empty means nobody's.
        filters: As in `skillcue_hooks.Query.filters`; applied before the depth.
        postings: The lexical leg looks for the terms of a view that are worth most, of equal ones
            for the rarest, until about so many skills hold one of them; None looks for all.
    """

    views: tuple[View, ...]
    depth: int
    tenants: tuple[str, ...]
    filters: tuple[tuple[str, str], ...] = ()
    postings: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that may be among the best, with the raw facts that a score is made of.

    Attributes:
        skill: The skill, without its body.
        vector: Of its head, float32, shape ``(dim,)``.
        head: How often each term that a view asked for occurs in its head; others are left out.
        body: The same for its body.
        head_length: Terms of its head, repeats included.
        body_length: Terms of its body, likewise.
        name: As in `IndexedSkill`.
    """

    skill: Skill
    vector: Any
    head: Mapping[str, int]
    body: Mapping[str, int]
    head_length: int
    body_length: int
    name: str


@dataclass(frozen=True, slots=True)
class Legs:
    """The answer to an `IndexQuery`, of one revision.

    Attributes:
        candidates: Each once, by id.
        dense: For each view the positions among `candidates` of its dense leg, best first.
        lexical: The same for the lexical leg.
        revision: What was searched; see `SkillIndex.revision`.
    """

    candidates: tuple[Candidate, ...]
    dense: tuple[tuple[int, ...], ...]
    lexical: tuple[tuple[int, ...], ...]
    revision: str


@dataclass(frozen=True, slots=True)
class TermFrequency:
    """In how many skills a term occurs: in the head, in the body, in any of the two."""

    head: int
    body: int
    either: int


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """Counts over the searchable skills of some tenants.

    Attributes:
        skills: Number of skills.
        bodies: Those whose searched body has a text.
        head_terms: Terms of all heads together, repeats included.
        body_terms: Terms of all bodies together, likewise.
        head_frequencies: Number of terms by the number of heads they occur in, above 0.
        body_frequencies: Number of terms by the number of bodies they occur in, above 0.
        revision: Of which revision they are.
    """

    skills: int
    bodies: int
    head_terms: int
    body_terms: int
    head_frequencies: Mapping[int, int] = field(hash=False)
    body_frequencies: Mapping[int, int] = field(hash=False)
    revision: str


@runtime_checkable
class SkillIndex(Protocol):
    """A store of skills that is asked for candidates. Safe to share between threads.

    Attributes:
        encoder: Fingerprint of the encoder whose vectors it holds; empty as long as it is empty.
        dim: Length of a vector; 0 as long as it is empty.
    """

    @property
    def encoder(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def apply(
        self,
        upserts: Sequence[IndexedSkill],
        deletes: Sequence[str] = (),
        *,
        tenant: str,
        encoder: str,
    ) -> str:
        """Store and delete skills of one tenant, all or nothing.

        Storing what is stored already changes nothing, not even the revision.

        Args:
            upserts: Skills, by `Skill.id` new or in place of the one that has it.
            deletes: Ids; unknown ones are passed over.
            tenant: Whose skills they are.
            encoder: Fingerprint of the encoder of the vectors.

        Returns:
            The revision after it.

        Raises:
            ConfigurationError: The index holds vectors of another encoder or length, or an id
                belongs to another tenant.
            IndexUnavailableError: It cannot be reached.
        """
        ...

    def candidates(self, query: IndexQuery) -> Legs:
        """Candidates with their facts.

        Raises:
            IndexUnavailableError: It cannot be reached.
        """
        ...

    def statistics(self, tenants: Sequence[str]) -> IndexStatistics:
        """Counts over the skills of `tenants`."""
        ...

    def frequencies(
        self, terms: Sequence[str], tenants: Sequence[str]
    ) -> Mapping[str, TermFrequency]:
        """In how many skills of `tenants` each term occurs; terms that occur nowhere are left out."""
        ...

    def sample(self, count: int, tenants: Sequence[str]) -> Sequence[IndexedSkill]:
        """The searchable skills with the `count` smallest keys, ascending by key, then id.

        Without `text` and `files`.
        """
        ...

    def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
        """Skills by id, bodies included; ids that do not exist are left out."""
        ...

    def named(self, names: Sequence[str], tenants: Sequence[str]) -> Sequence[Skill]:
        """Skills one of whose `IndexedSkill.names` is one of `names`, in precedence order: by tenant
        in the order of `tenants`, then as they were stored first.
        """
        ...

    def page(
        self, after: tuple[str, str] | None, limit: int, tenants: Sequence[str]
    ) -> Sequence[Skill]:
        """The next searchable skills by (casefolded name, id) after that pair; None begins."""
        ...

    def iterate(self, tenants: Sequence[str]) -> Iterator[Skill]:
        """All skills, hidden from search or not, by id; in batches, never all in memory."""
        ...

    def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
        """The whole body of a skill.

        Raises:
            KeyError: There is no such skill.
        """
        ...

    def files(self, skill_id: str, tenants: Sequence[str]) -> Mapping[str, int]:
        """Files beside a skill and their sizes in bytes, by path."""
        ...

    def read_file(self, skill_id: str, path: str, tenants: Sequence[str]) -> bytes:
        """The bytes of a file.

        Raises:
            KeyError: There is no such file.
        """
        ...

    def revision(self, tenants: Sequence[str]) -> str:
        """Identity of what `tenants` have now: moves with every change, equal everywhere."""
        ...

    def listen(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Call `changed` with the tenant after each change, whoever made it.

        May call from another thread, and too often, never too rarely: after a lost connection
        it calls once with ``""`` for every tenant.

        Returns:
            Ends it.
        """
        ...

    def close(self) -> None:
        """Release connections; the index must not be used afterwards."""
        ...
