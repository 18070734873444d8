"""Worlds of many tenants: libraries that clash with themselves, policies of every kind, an oracle.

Every text of a skill holds a mark that no other content has, so that a leak can be seen in whatever
a run is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from skillcue import StaticSource
from skillcue.library.naming import fold
from skillcue_hooks import Hit, Library, Query, Ranking, Scope, Skill, hookimpl

__all__ = ["TENANTS", "Answer", "Forgetful", "Tenants", "World", "answers", "mark", "worlds"]

TENANTS = ("ann", "bob", "eve")
NAMES = ("alder-one", "Alder One", "birch-two", "cedar-three", "cedar_three", "dogwood")
MARKS = 7
TEXT = "Garden work with hedges and tools"


def mark(number: int) -> str:
    """The word that only the content with that number holds."""
    return f"qz{'abcdefgh'[number]}zq"


@dataclass(frozen=True)
class Answer:
    """What a policy says about one tenant.

    Attributes:
        kind: How it says so; all kinds but ``none`` and ``open`` hide what is not in `shown`.
        shown: Numbers of the contents it shows.
        odd: Numbers of those about which it cannot answer, or answers something that is no yes.
        version: Part of the key.
    """

    kind: str = "open"
    shown: frozenset[int] = frozenset()
    odd: frozenset[int] = frozenset()
    version: int = 0

    def sees(self, number: int) -> bool:
        """What it comes to."""
        if self.kind in ("none", "open"):
            return True
        return self.kind in ("shows", "odd") and number in self.shown - self.odd


class Tenants:
    """A policy plugin that says about each tenant what it is told to."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Any:
        user = context.get("user")
        answer = self.answers.get(user, Answer("shows"))
        if answer.kind == "raises":
            raise RuntimeError("the directory is down")
        wrong = {"none": None, "true": True, "key": Scope(3, lambda skill: True)}  # type: ignore[arg-type]
        if answer.kind in wrong:
            return wrong[answer.kind]
        # Of the key only the version changes: what is shown is not in it.
        return Scope(f"{user} {answer.version}", lambda skill: _said(answer, skill))


def _said(answer: Answer, skill: Skill) -> Any:
    number = number_of(skill)
    if number in answer.odd:
        if number % 2:
            raise ValueError("no record of it")
        return "yes" if number % 4 else 1
    return answer.sees(number)


class Roles:
    """A second policy: a category is for those who have its name among their roles."""

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Scope:
        roles = frozenset(context.get("roles", ()))
        return Scope(f"roles {sorted(roles)}", lambda skill: _in_role(skill, roles))


def _in_role(skill: Skill, roles: Collection[str]) -> bool:
    return skill.category != "blue" or "blue" in roles


def number_of(skill: Skill) -> int:
    """The number of the content of a skill."""
    return next(n for n in range(MARKS + 1) if mark(n) in skill.description)


@dataclass
class World:
    """A library and what its tenants may see of it."""

    skills: tuple[Skill, ...]
    policy: Tenants = field(default_factory=Tenants)
    roles: Roles = field(default_factory=Roles)

    def source(self) -> list[StaticSource]:
        """The library, in two sources, so that names and contents clash across them."""
        half = len(self.skills) // 2
        return [StaticSource("one", self.skills[:half]), StaticSource("two", self.skills[half:])]

    def context(self, user: str) -> dict[str, Any]:
        """The run-time values of a tenant; one of them has a role."""
        return {"user": user, "roles": ["blue"] if user == "ann" else []}

    def sees(self, user: str, skill: Skill) -> bool:
        """Whether a tenant may see a skill."""
        roles = self.context(user)["roles"]
        return self.policy.answers[user].sees(number_of(skill)) and _in_role(skill, roles)

    def visible(self, user: str, skills: Sequence[Skill]) -> list[Skill]:
        """Those of the skills that a tenant may see, in their order."""
        return [skill for skill in skills if self.sees(user, skill)]

    def leaks(self, user: str, skills: Sequence[Skill], shown: Any, *said: str) -> list[str]:
        """What a text shows of skills that a tenant may not see; what the tenant said is no leak."""
        text = str(shown)
        for words in said:
            text = text.replace(words, "")
        hidden = [skill for skill in skills if not self.sees(user, skill)]
        own = self.visible(user, skills)
        names = {fold(skill.name) for skill in own}
        contents = {number_of(skill) for skill in own}
        found = [skill.id for skill in hidden if skill.id in text]
        found += [mark(n) for n in map(number_of, hidden) if n not in contents and mark(n) in text]
        return found + [s.name for s in hidden if fold(s.name) not in names and s.name in text]


class Forgetful:
    """Registers mode ``forgetful``: everything, best first by id, whatever the scope says."""

    @hookimpl
    def skillcue_register_retrievers(self, register: Any) -> None:
        register("forgetful", lambda library, context: _Everything(library))


class _Everything:
    fingerprint = "forgetful"

    def __init__(self, library: Library) -> None:
        self.generation = library.generation
        self._skills = library.skills

    def search(self, query: Query) -> Ranking:
        hits = [Hit(s, 1.0 / i, i) for i, s in enumerate(self._skills, 1)]
        page = tuple(hits[query.offset : query.offset + query.k])
        return Ranking(page, "forgetful", self.fingerprint, total=len(hits))


_numbers = st.integers(0, MARKS - 1)
_sets = st.frozensets(_numbers)


def answers() -> st.SearchStrategy[Answer]:
    """What a policy may say: most often something, sometimes what it must not."""
    kinds = st.sampled_from(["shows"] * 6 + ["odd", "open", "none", "raises", "true", "key"])
    made = st.builds(Answer, kinds, _sets, st.frozensets(_numbers, max_size=3))
    return made.map(lambda a: a if a.kind == "odd" else replace(a, odd=frozenset()))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A library of up to eight skills that share names, contents and most of their words."""
    skills: list[Skill] = []
    for position in range(draw(st.integers(2, 8))):
        if skills and draw(st.integers(0, 4)) == 0:  # a copy of another, somewhere else
            made = draw(st.sampled_from(skills))
        else:
            number = min(len(skills), MARKS - 1)
            made = Skill("", draw(st.sampled_from(NAMES)), f"{TEXT}: {mark(number)}.")
            made = replace(
                made,
                body=f"# Steps\n\nDo {mark(number)}.\n",
                searchable=draw(st.integers(0, 5)) > 0,
                user_invocable=draw(st.integers(0, 5)) > 0,
            )
        category = draw(st.sampled_from(["", "red", "blue"]))
        name = made.name.replace(" ", "%20")
        skills.append(replace(made, id=f"{name}@{category}/s{position}", category=category))
    world = World(tuple(skills))
    world.policy.answers = {user: draw(answers()) for user in TENANTS}
    return world
