"""Edits: whatever the history of a library, rankings are those of a fresh index, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.index_libraries import WORDS, CountingEncoder, build_retriever, make_skills

from skillcue_adapters import background, bm25, calibration, field_terms, hubness, text_plan
from skillcue_adapters.generations import line_up, origins
from skillcue_adapters.index import vectors
from skillcue_adapters.text_plan import ChunkLimits
from skillcue_hooks.contracts import Query, Skill
from skillcue_hooks.testing import make_skill

QUERIES = (
    Query("merge pdf form", k=200),
    Query("audit the budget", context="travel plan with video and audio", k=200),
    Query("deploy the model to the cloud. Then review the secret chart. Test git bisect.", k=200),
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    """So that a library of dozens of skills meets every limit."""
    limits = [
        (background, "SMALL_LIBRARY", 8),
        (calibration, "SMALL_LIBRARY", 8),
        (calibration, "BACKGROUND_SAMPLE", 12),
        (calibration, "HUB_SAMPLE", 6),
        (hubness, "NEIGHBOURS", 2),
        (hubness, "REMEMBERED", 3),
        (field_terms, "RECENT_SLOTS", 3),
        (bm25, "DEAD_TERMS", 4),
        (text_plan, "DEAD_TEXTS", 3),
        (vectors, "BLOCK_ROWS", 16),
    ]
    patches = [patch.object(module, name, value) for module, name, value in limits]
    patches.append(patch("skillcue_adapters.semantic_retriever.DEAD_TEXTS", 3))
    for one in patches:
        one.start()
    yield
    for one in patches:
        one.stop()


def answers(made: Any) -> list[Any]:
    found = []
    for query in QUERIES:
        ranking = made.search(query)
        assert ranking.degraded is None
        found.append([(h.skill, h.score.hex(), dict(h.signals)) for h in ranking.hits])
    return found


class Library(RuleBasedStateMachine):
    """A library that changes, in steps of one or several skills."""

    bodies = "lexical"

    @initialize(seed=st.integers(0, 5), count=st.sampled_from([0, 1, 25, 40]))
    def start(self, seed: int, count: int) -> None:
        self.folder = TemporaryDirectory()
        self.skills = {skill.id: skill for skill in make_skills(count, seed, bodies=seed % 2 == 0)}
        self.made: Any = None
        self.encoder = CountingEncoder()
        self.build()

    def build(self) -> None:
        self.made = self.build_one(self.encoder, Path(self.folder.name), self.made)

    def build_one(self, encoder: Any, folder: Path | None, previous: Any) -> Any:
        own = {"bodies": self.bodies, "long_chars": 40, "chunk_chars": 60}
        return build_retriever(
            "skillsight", list(self.skills.values()), encoder, folder, previous, **own
        )

    def one(self, pick: int) -> Skill:
        return list(self.skills.values())[pick % len(self.skills)]

    @rule(text=TEXTS, body=st.sampled_from(["", "# A\n\ncopy the table\n\n# B\n\nmake a chart"]))
    def add(self, text: str, body: str) -> None:
        skill = make_skill(f"new {text}", text, body)
        self.skills[skill.id] = skill
        self.build()

    @rule(pick=st.integers(0, 999), text=TEXTS)
    def edit(self, pick: int, text: str) -> None:
        if self.skills:
            skill = self.one(pick)
            self.skills[skill.id] = replace(skill, description=text, content_hash=text)
            self.build()

    @rule(pick=st.integers(0, 999))
    def edit_body(self, pick: int) -> None:
        if self.skills:
            skill = self.one(pick)
            self.skills[skill.id] = replace(skill, body=f"{skill.body}\n\nwith more {pick}")
            self.build()

    @rule(pick=st.integers(0, 999))
    def delete(self, pick: int) -> None:
        if self.skills:
            del self.skills[self.one(pick).id]
            self.build()

    @rule(pick=st.integers(0, 999), word=st.sampled_from(WORDS))
    def rename(self, pick: int, word: str) -> None:
        if self.skills:
            skill = self.one(pick)
            del self.skills[skill.id]
            moved = replace(skill, id=f"{word}@{word}", name=word)
            self.skills[moved.id] = moved
            self.build()

    @rule(pick=st.integers(0, 999))
    def copy(self, pick: int) -> None:
        if self.skills:
            skill = self.one(pick)
            self.skills[f"copy {skill.id}"] = replace(skill, id=f"copy {skill.id}")
            self.build()

    @rule(share=st.integers(2, 4))
    def delete_many(self, share: int) -> None:
        self.skills = dict(list(self.skills.items())[::share])
        self.build()

    @rule(seed=st.integers(10, 12))
    def add_many(self, seed: int) -> None:
        self.skills.update((skill.id, skill) for skill in make_skills(15, seed))
        self.build()

    @rule()
    def read_anew(self) -> None:
        """Equal skills that are other objects."""
        self.skills = {key: replace(skill) for key, skill in self.skills.items()}
        self.build()

    @rule()
    def restart(self) -> None:
        self.encoder, self.made = CountingEncoder(), None
        self.build()

    @invariant()
    def it_answers_as_a_fresh_index(self) -> None:
        fresh = self.build_one(CountingEncoder(), None, None)
        assert answers(self.made) == answers(fresh)

    @invariant()
    def nothing_is_encoded_twice(self) -> None:
        assert len(self.encoder.encoded) == len(set(self.encoder.encoded))

    def teardown(self) -> None:
        self.folder.cleanup()


class LibraryWithBodies(Library):
    bodies = "all"


# Shrinking takes minutes; the steps that failed are printed all the same.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
TestHeads = Library.TestCase
TestHeads.settings = settings(max_examples=25, stateful_step_count=15, deadline=None, phases=PHASES)
TestBodies = LibraryWithBodies.TestCase
TestBodies.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, phases=PHASES
)


def test_an_edit_encodes_and_analyses_what_it_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    skills = make_skills(300)
    encoder = CountingEncoder()
    before = build_retriever("skillsight", skills, encoder)
    encoder.encoded.clear()
    analysed: list[str] = []
    real = type(bm25.ANALYZER).counts
    monkeypatch.setattr(
        type(bm25.ANALYZER), "counts", lambda self, text: analysed.append(text) or real(self, text)
    )
    named: list[int] = []
    keys = bm25.content_keys
    monkeypatch.setattr(
        bm25, "content_keys", lambda name, texts: named.append(len(texts)) or keys(name, texts)
    )
    skills[7] = replace(skills[7], description="fold paper cranes")
    build_retriever("skillsight", skills, encoder, previous=before)
    assert encoder.encoded == ["skill-0-7: fold paper cranes"]
    assert analysed == ["skill-0-7: fold paper cranes"]
    assert named == [1, 1]


def test_calibration_is_measured_again_only_when_the_sample_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    skills = make_skills(60)
    made = build_retriever("skillsight", skills, CountingEncoder())
    measured = []
    real = calibration.background_basis
    monkeypatch.setattr(calibration, "background_basis", lambda *a: measured.append(1) or real(*a))
    sampled = {key.tobytes() for key in made.index.sample}
    plan = made.index.semantic.plan
    inside = {n: plan.keys[row].tobytes() in sampled for n, row in enumerate(plan.head.rows)}
    for wanted in (False, True):
        position = next(n for n, is_in in inside.items() if is_in is wanted)
        skill = made.skills[position]
        edited = [replace(s, description="zebra") if s is skill else s for s in made.skills]
        after = build_retriever("skillsight", edited, CountingEncoder(), previous=made)
        if np.array_equal(after.index.sample, made.index.sample):
            assert not measured
        else:
            assert measured == [1]
        measured.clear()


def test_a_generation_does_not_keep_the_ones_before() -> None:
    import gc
    import weakref

    skills = make_skills(40)
    made = build_retriever("skillsight", skills, CountingEncoder())
    first = weakref.ref(made.index)
    bm = weakref.ref(made.built["bm25"])
    for n in range(3):
        skills[n] = replace(skills[n], description=f"edited {n}")
        made = build_retriever("skillsight", skills, CountingEncoder(), previous=made)
    gc.collect()
    assert first() is None
    assert bm() is None


@pytest.mark.parametrize("seed", range(30))
def test_origins_find_what_is_the_same(seed: int) -> None:
    choice = np.random.default_rng(seed)
    every = sorted(make_skills(12), key=lambda skill: skill.id)
    before = [skill for skill in every if choice.random() < 0.7]
    now = [
        replace(skill, description="edited")
        if choice.random() < 0.2
        else replace(skill)
        if choice.random() < 0.3
        else skill
        for skill in every
        if choice.random() < 0.8
    ]
    expected = [before.index(skill) if skill in before else -1 for skill in now]
    assert origins(before, now).tolist() == expected
    shuffled = list(now)
    choice.shuffle(shuffled)  # type: ignore[arg-type]
    lined, found = line_up(before, tuple(shuffled))
    assert list(lined) == now
    assert found.tolist() == expected


def test_hubness_is_that_of_the_definition_after_any_change_of_the_sample() -> None:
    choice = np.random.default_rng(3)
    rows = choice.standard_normal((60, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = np.zeros((60, 32), dtype=np.uint8)
    keys[:, 0] = np.arange(60)
    store = vectors.VectorStore(8)
    store.put(keys, rows)
    located = store.locate(keys)
    heads = np.arange(60)
    made = None
    for _ in range(40):
        size = int(choice.choice([2, 3, 4, 6, 9]))
        sampled = np.sort(choice.choice(60, size, replace=False))
        if made is not None and choice.random() < 0.7:  # as edits do: one goes, one comes
            others = np.setdiff1d(heads, made.sampled)
            sampled = np.sort(np.append(made.sampled[1:], choice.choice(others)))
        made = hubness.hubness(located, heads, sampled, made, 60)
        grid = np.round(rows.astype(np.float64) * 2048) / 2048
        for n in range(60):
            similar = sorted((grid[n] @ grid[m] for m in sampled.tolist() if m != n), reverse=True)
            count = min(hubness.NEIGHBOURS, len(sampled) - 1)
            assert made.values[n] == sum(similar[:count]) / count


def test_chunks_beyond_the_limit_are_left_out() -> None:
    skill = make_skill("long", "d", "\n\n".join(f"part {n} of it" for n in range(9)))
    limits = ChunkLimits(chars=14, per_skill=4)
    assert len(text_plan._chunk_texts(skill, limits)) == 4
