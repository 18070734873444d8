"""What modes over an index ask of it, and what they do where it cannot answer."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from support.memory_indexes import NeverWalked, in_memory_index, library_of, made_up, modes

from skillcue_adapters.indexed import MemoryIndex, Unprepared, calibration, facts, prepare, pruning
from skillcue_adapters.indexed import retriever as indexed_retriever
from skillcue_adapters.indexed.panel import weighted_spread
from skillcue_adapters.query_vectors import forget_queries
from skillcue_hooks.contracts import Library, Query, Scope
from skillcue_hooks.errors import ConfigurationError, IndexUnavailableError, UnknownSettingError
from skillcue_hooks.testing import FakeEncoder, make_skill

ENCODER = FakeEncoder(dim=64)
MODES = ("bm25", "dense", "hybrid", "skillsight")
QUERY = Query("clean table chart", "a plan for the budget", k=5)


class Watched(MemoryIndex):
    """Writes down what it is asked, and can be out of reach."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.away = False

    def _note(self, *what):
        if self.away:
            raise IndexUnavailableError("The index is away.", "Start it.")
        self.asked.append(what)

    def candidates(self, query):
        self._note("candidates", query)
        return super().candidates(query)

    def statistics(self, tenants):
        self._note("statistics")
        return super().statistics(tenants)

    def frequencies(self, terms, tenants):
        self._note("frequencies", *terms)
        return super().frequencies(terms, tenants)

    def sample(self, count, tenants):
        self._note("sample")
        return super().sample(count, tenants)

    def queries(self):
        return [what[1] for what in self.asked if what[0] == "candidates"]


def watched(skills):
    index = Watched()
    items = prepare([Unprepared(skill) for skill in skills], ENCODER)
    index.apply(items, tenant="t", encoder=ENCODER.fingerprint)
    return index


@pytest.mark.parametrize("mode", MODES)
def test_a_query_of_known_terms_is_one_question(mode):
    index = watched(made_up(100))
    retriever = modes(library_of(index), ENCODER)(mode)
    retriever.search(QUERY)
    index.asked.clear()
    retriever.search(replace(QUERY, k=3))
    assert [what[0] for what in index.asked] == ["candidates"]
    index.asked.clear()
    retriever.search(replace(QUERY, text="clean the zebra table"))
    if mode != "dense":
        assert index.asked[0] == ("frequencies", "zebra")
    assert index.asked[-1][0] == "candidates"


def test_modes_over_one_generation_share_what_they_know():
    index = watched(made_up(100))
    get = modes(library_of(index), ENCODER)
    for mode in MODES:
        get(mode).search(QUERY)
    asked = [what[0] for what in index.asked]
    assert (asked.count("statistics"), asked.count("sample")) == (1, 1)


def test_building_asks_nothing():
    index = watched(made_up(10))
    index.away = True
    library = Library("generation", NeverWalked(), index, ("t",))
    for mode in MODES:
        get = unbuilt(library)
        with pytest.raises(IndexUnavailableError, match="away"):
            get(mode).search(QUERY)
        with pytest.raises(IndexUnavailableError, match="away"):
            get(mode).wait_ready()


def unbuilt(library):
    """As `modes`, without waiting."""
    from support.memory_indexes import FACTORIES

    from skillcue_hooks.contracts import RetrieverContext

    built = {}

    def get(mode):
        if mode not in built:
            context = RetrieverContext(mode, {}, None, get, encoder=lambda spec: ENCODER)
            built[mode] = FACTORIES[mode](library, context)
        return built[mode]

    return get


@pytest.mark.parametrize("mode", MODES)
def test_what_is_out_of_reach_is_said_and_comes_back(mode):
    index = watched(made_up(50))
    retriever = modes(library_of(index), ENCODER)(mode)
    expected = retriever.search(QUERY).hits
    index.away = True
    with pytest.raises(IndexUnavailableError, match="away"):
        retriever.search(QUERY)
    index.away = False
    assert retriever.search(QUERY).hits == expected


@pytest.mark.parametrize("mode", ["dense", "hybrid", "skillsight"])
def test_vectors_of_another_encoder_are_not_compared(mode):
    library = library_of(in_memory_index(made_up(20), FakeEncoder(dim=32)))
    retriever = unbuilt(library)(mode)
    for act in (lambda: retriever.search(QUERY), retriever.wait_ready):
        with pytest.raises(ConfigurationError, match="another encoder") as raised:
            act()
        assert "encoder=" in str(raised.value)
    assert unbuilt(library)("bm25").search(QUERY).hits


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_index_gives_an_empty_ranking(mode):
    retriever = modes(library_of(MemoryIndex()), ENCODER)(mode)
    assert retriever.search(QUERY).hits == ()
    with pytest.raises(ConfigurationError, match="colour"):
        retriever.search(replace(QUERY, filters=(("colour", "red"),)))


@pytest.mark.parametrize("mode", ["dense", "hybrid", "skillsight"])
def test_a_query_that_cannot_be_encoded_is_answered_by_its_words(mode):
    class Broken(FakeEncoder):
        def encode_queries(self, texts):
            raise OSError("the server is down")

    encoder = Broken(dim=64)
    get = modes(library_of(in_memory_index(made_up(50), encoder)), encoder)
    forget_queries()
    answer = get(mode).search(QUERY)
    assert answer.degraded == "encoding the query failed: OSError"
    words = get("bm25").search(QUERY)
    assert [hit.skill.id for hit in answer.hits] == [hit.skill.id for hit in words.hits]
    assert answer.mode == mode


@pytest.mark.parametrize("mode", ["dense", "skillsight"])
def test_bodies_have_no_vectors_in_an_index(mode):
    library = library_of(in_memory_index(made_up(5), ENCODER))
    with pytest.raises(ConfigurationError, match="bodies"):
        modes(library, ENCODER, {mode: {"bodies": "all"}})(mode)


def test_the_budget_of_the_lexical_side_goes_to_the_index():
    index = watched(made_up(300))
    settings = {"bm25": {"postings": 700}}
    get = modes(library_of(index), ENCODER, settings)
    for mode in ("bm25", "hybrid", "skillsight"):
        get(mode).search(QUERY)
    assert {query.postings for query in index.queries()} == {700}
    index.asked.clear()
    get("bm25").search(replace(QUERY, k=400))  # so many must be looked at
    assert index.queries()[0].postings == 1600
    index.asked.clear()
    modes(library_of(index), ENCODER, {"bm25": {"postings": 0}})("bm25").search(QUERY)
    assert index.queries()[0].postings is None
    with pytest.raises(ConfigurationError, match="postings"):
        modes(library_of(index), ENCODER, {"bm25": {"postings": -1}})("bm25")
    with pytest.raises(UnknownSettingError, match="postings"):
        modes(library_of(index), ENCODER, {"bm25": {"posting": 1}})("bm25")


@pytest.fixture
def _few(monkeypatch):
    """Little is sampled, and little looked at."""
    monkeypatch.setattr(facts, "SAMPLE", 20)
    monkeypatch.setattr(facts, "MOST_SAMPLED", 40)
    monkeypatch.setattr(indexed_retriever, "LEAST_DEPTH", 10)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("mode", MODES)
def test_a_policy_is_asked_about_candidates_and_followed_down_the_ranking(mode):
    index = watched(made_up(1000))
    settings = {"skillsight": {"candidates": 10}, "hybrid": {"depth": 10}}
    retriever = modes(library_of(index), ENCODER, settings)(mode)
    asked = set()

    def allows(skill):
        asked.add(skill.id)
        return True

    query = Query("merge table", k=3)
    hits = retriever.search(replace(query, scope=Scope("all", allows))).hits
    assert len(hits) == 3
    assert 3 <= len(asked) < 100
    assert len(index.queries()) == 1
    last = retriever.search(Query("merge table", k=600)).hits[-1].skill
    index.asked.clear()
    only = Scope("one", lambda skill: skill.id == last.id)
    found = retriever.search(replace(query, scope=only))
    assert [hit.skill.id for hit in found.hits] == [last.id]
    depths = [asked.depth for asked in index.queries()]
    assert depths[:3] == [10, 40, 160]
    assert len(depths) <= 6


@pytest.mark.usefixtures("_few")
def test_a_policy_that_hides_nearly_everything_is_not_followed_for_ever(monkeypatch):
    monkeypatch.setattr(indexed_retriever, "MOST_CANDIDATES", 100)
    index = watched(made_up(1000))
    retriever = modes(library_of(index), ENCODER)("dense")
    found = retriever.search(Query("merge", k=3, scope=Scope("none", lambda skill: False)))
    assert found.hits == ()
    assert found.degraded == "100 candidates looked at"
    assert [query.depth for query in index.queries()] == [10, 40, 100]


@pytest.mark.usefixtures("_few")
def test_a_filter_is_not_lost_to_the_budget():
    """The rarest terms of a text may occur only in skills that the filter hides."""
    skills = [make_skill(f"rare{n}", "quokka", source="zoo") for n in range(30)]
    skills += [make_skill(f"common{n}", "table", source="office") for n in range(200)]
    index = watched(skills)
    retriever = modes(library_of(index), ENCODER, {"bm25": {"postings": 1}})("bm25")
    query = Query("quokka table", k=3, filters=(("source", "office"),))
    assert len(retriever.search(query).hits) == 3


def test_a_policy_that_raises_hides_what_it_cannot_judge(caplog):
    retriever = modes(library_of(in_memory_index(made_up(20), ENCODER)), ENCODER)("dense")

    def allows(skill):
        raise RuntimeError("broken")

    with caplog.at_level(logging.ERROR):
        assert retriever.search(replace(QUERY, scope=Scope("broken", allows))).hits == ()


def test_total_is_exact_where_every_skill_matches(monkeypatch):
    monkeypatch.setattr(facts, "SAMPLE", 20)
    skills = made_up(500)
    get = modes(library_of(in_memory_index(skills, ENCODER)), ENCODER)
    for mode in ("dense", "hybrid", "skillsight"):
        assert get(mode).search(QUERY).total == 500
    assert 5 <= get("bm25").search(QUERY).total <= 500
    filtered = replace(QUERY, filters=(("category", "office"),))
    some = get("dense").search(filtered).total
    assert 5 <= some <= sum(1 for skill in skills if skill.category == "office")


def test_each_generation_is_of_its_tenants_and_its_time():
    index = in_memory_index(made_up(30), ENCODER, "t")
    other = [make_skill("secret-table", "clean table chart", id="secret-table@u/secret-table")]
    items = prepare([Unprepared(skill) for skill in other], ENCODER)
    index.apply(items, tenant="u", encoder=ENCODER.fingerprint)
    before = modes(library_of(index), ENCODER)
    for mode in MODES:
        hits = before(mode).search(replace(QUERY, k=100)).hits
        assert "secret-table" not in {hit.skill.name for hit in hits}
        both = modes(library_of(index, "t", "u"), ENCODER)(mode).search(replace(QUERY, k=100)).hits
        assert "secret-table" in {hit.skill.name for hit in both}
    index.apply([], ["secret-table@u/secret-table"], tenant="u", encoder=ENCODER.fingerprint)
    for mode in MODES:
        gone = modes(library_of(index, "t", "u"), ENCODER)(mode).search(replace(QUERY, k=100))
        assert "secret-table" not in {hit.skill.name for hit in gone.hits}


def test_what_was_measured_on_the_same_sample_is_taken_over(monkeypatch):
    measured = []
    basis = calibration.background_basis

    def counted(*args):
        measured.append(1)
        return basis(*args)

    monkeypatch.setattr(calibration, "background_basis", counted)
    monkeypatch.setattr(facts, "SAMPLE", 40)
    skills = made_up(200)
    index = in_memory_index(skills, ENCODER)
    first = modes(library_of(index), ENCODER)
    assert first("skillsight").search(QUERY).hits
    sampled = first("skillsight").facts.sample.places
    outside = next(skill for skill in skills if skill.id not in sampled)
    index.apply([], [outside.id], tenant="t", encoder=ENCODER.fingerprint)
    second = modes(library_of(index), ENCODER, previous=first)
    anew = modes(library_of(index), ENCODER)
    found = second("skillsight").search(QUERY).hits
    assert len(measured) == 1
    assert found == anew("skillsight").search(QUERY).hits
    inside = next(skill for skill in skills if skill.id in sampled)
    index.apply([], [inside.id], tenant="t", encoder=ENCODER.fingerprint)
    third = modes(library_of(index), ENCODER, previous=second)
    assert third("skillsight").search(QUERY).hits == (
        modes(library_of(index), ENCODER)("skillsight").search(QUERY).hits
    )


def test_a_skill_is_called_by_its_name_however_common_its_words(monkeypatch):
    monkeypatch.setattr(facts, "SAMPLE", 20)
    monkeypatch.setattr(indexed_retriever, "LEAST_DEPTH", 5)
    crowd = [make_skill(f"s{n}", "pdf pdf pdf forms filled and flattened") for n in range(200)]
    called = make_skill("pdf", "Everything about documents.")
    library = library_of(in_memory_index([*crowd, called], ENCODER))
    settings = {"skillsight": {"candidates": 5, "name_weight": 100.0}}
    retriever = modes(library, ENCODER, settings)("skillsight")
    [best] = retriever.search(Query("save it as pdf", k=1)).hits
    assert best.skill.name == "pdf"
    assert best.signals["called"] == 1.0


def test_hits_come_without_bodies_and_are_found_with_them():
    skills = made_up(30)
    library = library_of(in_memory_index(skills, ENCODER))
    hits = modes(library, ENCODER)("bm25").search(QUERY).hits
    by_id = {skill.id: skill for skill in skills}
    assert [hit.skill for hit in hits] == [replace(by_id[h.skill.id], body="") for h in hits]
    whole = library.get([hit.skill.id for hit in hits])
    assert whole == {hit.skill.id: by_id[hit.skill.id] for hit in hits}


def test_a_weighted_spread_is_that_of_repeated_numbers():
    values = np.array([1.0, 5.0, 2.0])
    repeated = np.array([1.0, 5.0, 5.0, 5.0, 2.0, 2.0])
    mean, deviation = weighted_spread(values, np.array([1.0, 3.0, 2.0]))
    assert (mean, deviation) == pytest.approx((repeated.mean(), repeated.std()))
    assert weighted_spread(np.array([0.1, 0.1]), np.array([3.0, 4.0])) == (0.1, 0.0)


def test_more_is_looked_at_in_a_large_library(monkeypatch):
    """Four times as many skills, twice as many postings; never fewer than usual."""
    usual = pruning.USUAL_SKILLS
    sizes = (0, 189, usual, 4 * usual, 25 * usual, 10**9)
    assert [pruning.growth(n) for n in sizes] == [1.0, 1.0, 1.0, 2.0, 5.0, 5.0]
    index = watched(made_up(100))
    retriever = modes(library_of(index), ENCODER, {"bm25": {"postings": 1000}})("bm25")
    retriever.search(QUERY)
    monkeypatch.setattr(pruning, "USUAL_SKILLS", 25)
    retriever.search(QUERY)
    assert [query.postings for query in index.queries()] == [1000, 2000]
