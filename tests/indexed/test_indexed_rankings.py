"""Rankings over an index are those over the same library in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.memory_indexes import in_memory_index, library_of, made_up, modes

from skillcue.library import FolderSource, build_snapshot
from skillcue_adapters.encoders import static
from skillcue_adapters.indexed import facts
from skillcue_hooks.contracts import Hit, Query, Scope
from skillcue_hooks.testing import make_library, make_skill

STATIC = static.build("")
MODES = ("bm25", "dense", "hybrid", "skillsight")
LONG = (
    "We got a spreadsheet with last year's invoices. Some of the rows are broken. First clean up "
    "the table and plot a chart of the totals for each month. Then draft a mail to the customer "
    "that explains what changed. Keep it short. Save the chart as an image. The deploy can wait "
    "until the tests pass, but commit what you have to git."
)
TEXTS = ("fill in a pdf form", "clean up a csv table", "git commit", "zxqvj", "merge", LONG)
CONTEXTS = ("", "I am writing slides about docker images.", LONG)
QUERIES = [Query(text, context) for text in TEXTS for context in CONTEXTS]


def assert_alike(found: tuple[Hit, ...], wanted: tuple[Hit, ...]) -> None:
    """The same skills with the same numbers."""
    assert [hit.skill.id for hit in found] == [hit.skill.id for hit in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.rank == other.rank
        assert one.score == pytest.approx(other.score, rel=1e-9, abs=1e-9)
        assert one.signals == pytest.approx(other.signals, rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def examples():
    """The example skills in memory, and in an index."""
    source = FolderSource(Path(__file__).resolve().parents[2] / "examples" / "skills")
    library = build_snapshot([source], [source.scan(None)]).library
    indexed = library_of(in_memory_index(library.skills, STATIC))
    return modes(library, STATIC), modes(indexed, STATIC)


@pytest.fixture(scope="module")
def known():
    """Some hundred skills that are all in the sample, copies among them."""
    skills = made_up(400)
    indexed = library_of(in_memory_index(skills, STATIC))
    return modes(make_library(skills), STATIC), modes(indexed, STATIC)


@pytest.fixture(scope="module")
def large():
    """More skills than are sampled."""
    skills = made_up(3000)
    indexed = library_of(in_memory_index(skills, STATIC))
    local, shared = modes(make_library(skills), STATIC), modes(indexed, STATIC)
    assert shared("bm25").facts.statistics.skills > len(shared("bm25").facts.sample)
    return local, shared


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
def test_of_the_examples(examples, mode, query):
    local, shared = examples
    query = replace(query, k=48)
    assert_alike(shared(mode).search(query).hits, local(mode).search(query).hits)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
def test_of_a_library_that_the_sample_holds(known, mode, query):
    local, shared = known
    query = replace(query, k=20)
    found, wanted = shared(mode).search(query), local(mode).search(query)
    assert_alike(found.hits, wanted.hits)
    assert found.total == wanted.total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [{"fusion": "minmax"}, {"fusion": "published"}, {"rank": 2}])
def test_with_other_settings(mode, settings):
    skills = made_up(300)
    chosen = {"skillsight": settings, "bm25": {"k1": 1.2, "body_weight": 0.0}, "hybrid": {"k": 5}}
    local = modes(make_library(skills), STATIC, chosen)
    shared = modes(library_of(in_memory_index(skills, STATIC)), STATIC, chosen)
    for query in QUERIES[::4]:
        assert_alike(shared(mode).search(query).hits, local(mode).search(query).hits)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fixture", ["known", "large"])
def test_with_filters_and_a_scope(request, mode, fixture):
    local, shared = request.getfixturevalue(fixture)
    scope = Scope("even", lambda skill: len(skill.name) % 2 == 0)
    query = Query("clean table chart", k=10, filters=(("category", "web"),), scope=scope)
    found, wanted = shared(mode).search(query).hits, local(mode).search(query).hits
    assert len(found) == 10
    assert all(h.skill.category == "web/data" and len(h.skill.name) % 2 == 0 for h in found)
    common = {h.skill.id for h in found} & {h.skill.id for h in wanted}
    assert len(common) >= (10 if fixture == "known" else 8)


@pytest.mark.parametrize("mode", ["bm25", "dense"])
@pytest.mark.parametrize("query", QUERIES)
def test_plain_scores_of_a_large_library_are_exact(large, mode, query):
    """All but ``z``, which is estimated."""
    local, shared = large
    query = replace(query, k=20)
    found, wanted = shared(mode).search(query).hits, local(mode).search(query).hits
    assert [hit.skill.id for hit in found] == [hit.skill.id for hit in wanted]
    for one, other in zip(found, wanted, strict=True):
        signals = {name: value for name, value in other.signals.items() if name != "z"}
        assert {**one.signals, "z": 0.0} == pytest.approx({**signals, "z": 0.0}, abs=1e-9)
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert one.signals["z"] == pytest.approx(other.signals["z"], rel=0.1, abs=0.1)


@pytest.mark.parametrize(("mode", "least"), [("hybrid", 0.97), ("skillsight", 0.9)])
def test_of_a_large_library_nearly_all_is_found(large, mode, least):
    local, shared = large
    shares = []
    for query in QUERIES:
        wanted = [h.skill.id for h in local(mode).search(replace(query, k=20)).hits]
        found = [h.skill.id for h in shared(mode).search(replace(query, k=20)).hits]
        shares.append(len({*wanted} & {*found}) / len(wanted))
    assert np.mean(shares) >= least


def test_of_a_large_library_calibrated_numbers_are_exact_where_they_are_not_estimated(large):
    local, shared = large
    for query in QUERIES[:6]:
        wanted = {h.skill.id: h for h in local("skillsight").search(replace(query, k=20)).hits}
        for hit in shared("skillsight").search(replace(query, k=20)).hits:
            if hit.skill.id in wanted:
                other = wanted[hit.skill.id].signals
                for name in ("calibrated", "semantic", "gain", "called", "document", "background"):
                    assert hit.signals[name] == pytest.approx(other[name], abs=1e-9)
                for name in ("z_head", "z_document", "z"):
                    assert hit.signals[name] == pytest.approx(other[name], rel=0.1, abs=0.1)


def test_paging_goes_on_to_the_end(large):
    local, shared = large
    every = [hit.skill.id for hit in local("dense").search(Query("merge", k=3000)).hits]
    pages = [
        hit.skill.id
        for offset in range(0, 3000, 1000)
        for hit in shared("dense").search(Query("merge", k=1000, offset=offset)).hits
    ]
    assert pages == every


def test_candidates_count_once_in_a_mean_and_sampled_skills_for_all_the_others(large, monkeypatch):
    """The candidates are the extremes: as a part of a sample they would pull at the mean."""
    monkeypatch.setattr(facts, "SAMPLE", 150)
    skills = made_up(3000)
    library = replace(library_of(in_memory_index(skills, STATIC)), generation="sampled")
    shared = modes(library, STATIC)
    for query in QUERIES[:6]:
        [wanted] = large[0]("dense").search(replace(query, k=1)).hits
        [found] = shared("dense").search(replace(query, k=1)).hits
        assert found.signals["z"] == pytest.approx(wanted.signals["z"], rel=0.12)


@pytest.mark.parametrize("mode", MODES)
def test_with_a_filter_what_is_hidden_keeps_its_rank(mode):
    """Skills that score the same rank by id, candidates or not."""
    skills = [
        make_skill(f"s{n}", "table chart", source="odd" if n % 2 else "even") for n in range(150)
    ]
    local = modes(make_library(skills), STATIC)
    shared = modes(library_of(in_memory_index(skills, STATIC)), STATIC)
    query = Query("chart", k=20, filters=(("source", "odd"),))
    assert_alike(shared(mode).search(query).hits, local(mode).search(query).hits)


def test_the_sample_has_as_many_texts_as_the_background_is_measured_on(monkeypatch):
    """Also where most skills are copies of a few."""
    monkeypatch.setattr(facts, "SAMPLE", 40)
    skills = made_up(100)
    copies = [replace(skills[0], id=f"copy@{n:03}") for n in range(300)]
    shared = modes(library_of(in_memory_index([*skills, *copies], STATIC)), STATIC)
    assert len(shared("bm25").facts.sample.distinct) >= 20
