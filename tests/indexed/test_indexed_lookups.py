"""Names in an index mean what they mean in memory, and nothing is walked to find out."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.indexes import WALKS, WatchedIndex, over, put

from skillcue import SkillCue, StaticSource
from skillcue.indexed.snapshot import IndexSnapshot
from skillcue.library.snapshot import build_snapshot
from skillcue_adapters.indexed import MemoryIndex
from skillcue_hooks import Scope, Skill
from skillcue_hooks.errors import SkillNotFoundError
from skillcue_hooks.testing import make_skill

WORDS = ("a", "A", "a b", "a-b", "a_b", "A B", "ä", "ä", "b")
LIBRARIES = st.lists(
    st.tuples(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), max_size=2)), max_size=6
)


def skills_of(drawn: list[tuple[str, list[str]]]) -> list[Skill]:
    return [
        make_skill(name, f"number {n}", id=f"{n}@{n}", aliases=tuple(aliases))
        for n, (name, aliases) in enumerate(drawn)
    ]


@given(LIBRARIES, st.sampled_from([*WORDS, "0@0", "3@3", " a ", "c"]), st.sampled_from([None, 2]))
def test_a_name_means_the_same_skill_as_in_memory(drawn, name, hidden):
    skills = skills_of(drawn)
    source = StaticSource("made up", skills)
    in_memory = build_snapshot([source], [source.scan()])
    index = MemoryIndex()
    put(source, index, keep=True)  # type: ignore[arg-type]
    in_index = IndexSnapshot(index, ("",), "index")
    scope = (
        None if hidden is None else Scope("some", lambda skill: skill.id != f"{hidden}@{hidden}")
    )
    expected = in_memory.find(name, scope)
    found = in_index.find(name, scope)
    assert (found and found.id) == (expected and expected.id)
    for skill in in_memory.skills:
        assert in_index.load_name(skill, scope) == in_memory.load_name(skill, scope)


def test_the_earlier_tenant_has_the_name(tmp_path):
    index = MemoryIndex()
    for tenant in ("acme", "shared"):
        source = StaticSource("made up", [make_skill("forms", f"of {tenant}")])
        put(source, index, tenant)  # type: ignore[arg-type]
    for tenants in itertools.permutations(("acme", "shared")):
        snapshot = IndexSnapshot(index, tenants, "index")
        assert snapshot.resolve("forms").description == f"of {tenants[0]}"
        other = snapshot.get(f"forms@{tenants[1]}/forms")
        assert other is not None
        assert snapshot.load_name(other) == other.id


def test_suggestions_stand_nearby_in_the_alphabet(example_skills):
    index = WatchedIndex()
    put(example_skills, index)
    cue = over(index)
    index.calls.clear()
    with pytest.raises(SkillNotFoundError) as caught:
        cue.load("pdf-form-fillin")
    assert caught.value.closest[0] == "pdf-form-filling"
    assert not any(index.calls[name] for name in WALKS)


def test_a_turn_that_holds_many_names_asks_once_for_all(example_skills):
    index = WatchedIndex()
    put(example_skills, index)
    cue = over(index)
    cue.advise([{"role": "user", "content": "use the git-bisect skill"}])  # fits the gate
    index.calls.clear()
    text = "use git-bisect: " + " ".join(f"part-{n}-of-it" for n in range(300))
    advice = cue.advise([{"role": "user", "content": text}])
    assert [hit.skill.name for hit in advice.hits] == ["git-bisect"]
    assert index.calls["named"] <= 2
    assert not any(index.calls[name] for name in WALKS)


def test_pages_of_the_list_are_those_of_memory_and_cost_one_page_each(example_skills):
    index = WatchedIndex()
    put(example_skills, index)
    in_memory, in_index = SkillCue(example_skills, mode="bm25").tools(), over(index).tools()
    assert in_index.list().text == in_memory.list().text
    assert in_index.list(page=7).text == in_memory.list(page=7).text
    assert in_index.list().data == in_memory.list().data


def test_a_long_list_is_paged_with_marks(tmp_path):
    index = WatchedIndex()
    skills = [make_skill(f"skill-{n:04}", f"number {n}") for n in range(700)]
    put(StaticSource("made up", skills), index)  # type: ignore[arg-type]
    snapshot = IndexSnapshot(index, ("",), "index")
    seen: list[str] = []
    start, more = 0, True
    index.calls.clear()
    while more:
        part = snapshot.listing(None, start, 50)
        assert part.total == 700
        seen += [skill.name for skill in part.skills]
        start, more = start + 50, part.more
    assert seen == [skill.name for skill in skills]
    assert index.calls["page"] <= 14 + 2  # one a part, and a look behind the last
    even = Scope("even", lambda skill: int(skill.name[-1]) % 2 == 0)
    assert [s.name for s in snapshot.listing(even, 100, 3).skills] == [
        "skill-0200",
        "skill-0202",
        "skill-0204",
    ]


def test_cue_list_has_everything(tmp_path: Path):
    index = MemoryIndex()
    skills = [make_skill(f"skill-{n:04}", f"number {n}") for n in range(1234)]
    put(StaticSource("made up", skills), index)  # type: ignore[arg-type]
    cue = over(index)
    assert [skill.name for skill in cue.list()] == [skill.name for skill in skills]
    library = cue.snapshot().library
    assert (len(library.skills), library.skills[3].name, library.skills[-1].name) == (
        1234,
        "skill-0003",
        "skill-1233",
    )
    assert [s.name for s in library.skills[1:4]] == ["skill-0001", "skill-0002", "skill-0003"]
    with pytest.raises(IndexError):
        library.skills[1234]
