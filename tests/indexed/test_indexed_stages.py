"""Modes that stand on others, and the cache, over an index: nothing walks over its skills."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.memory_indexes import in_memory_index, library_of, made_up, modes
from support.pair_scorers import TableScorer
from support.refining import TASK, command, draft, finish, good_script

from skillcue_adapters import expand, two_stage
from skillcue_adapters.caching import CachedRetriever, MemoryStore, ranking_key
from skillcue_adapters.indexed import Unprepared, facts, prepare
from skillcue_adapters.indexed import retriever as indexed_retriever
from skillcue_adapters.refine import retriever as refine
from skillcue_adapters.refine.commands import Commands
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_hooks.contracts import Query, RetrieverContext, Scope
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.testing import (
    FakeEncoder,
    RaisingRetriever,
    ScriptedLanguageModel,
    make_library,
    make_skill,
)

ENCODER = FakeEncoder(dim=64)
PDF = make_skill("pdf-tables", "Extract tables from pdf reports.", "Use camelot in a pdf.")
MERGE = make_skill("workbook-merge", "Merge sheets into one workbook.", "Append the rows.")
SKILLS = [PDF, MERGE, *made_up(30)]


@pytest.fixture
def library():
    return library_of(in_memory_index(SKILLS, ENCODER))


def _look_at_few(monkeypatch):
    monkeypatch.setattr(facts, "SAMPLE", 20)
    monkeypatch.setattr(facts, "MOST_SAMPLED", 40)
    monkeypatch.setattr(indexed_retriever, "LEAST_DEPTH", 3)


def context(library, mode, settings, model=None, **defaults):
    return RetrieverContext(
        mode,
        settings,
        None,
        modes(library, ENCODER),
        encoder=lambda spec: ENCODER,
        defaults=defaults,
        language_model=model,
    )


def test_a_lookup_gives_the_same_in_memory_and_over_an_index(library):
    ids = [PDF.id, "nobody@nowhere", MERGE.id]
    for lookup in (SkillLookup(library), SkillLookup(make_library(SKILLS))):
        assert lookup.get(ids) == {PDF.id: PDF, MERGE.id: MERGE}
        assert lookup.named("pdf-tables") == [PDF]
        assert lookup.named("PDF-tables") == []
        assert lookup.whole([replace(PDF, body=""), MERGE])[1] == MERGE
    assert SkillLookup(library).whole([replace(PDF, body="")]) == [PDF]
    assert SkillLookup(library).as_hits([PDF.id]) == {PDF.id: replace(PDF, body="")}
    assert SkillLookup(make_library(SKILLS)).as_hits([PDF.id]) == {PDF.id: PDF}


def test_hidden_skills_are_not_looked_up():
    hidden = replace(PDF, searchable=False)
    lookup = SkillLookup(library_of(in_memory_index([hidden, MERGE], ENCODER)))
    assert lookup.get([PDF.id, MERGE.id]) == {MERGE.id: MERGE}
    assert lookup.named("pdf-tables") == []


def test_a_cross_encoder_reads_bodies(library):
    scorer = TableScorer()
    settings = {"first": "bm25", "body_chars": 200, "budget_ms": 600_000}
    over = two_stage.build(library, context(library, "two_stage", settings, cross_encoder=scorer))
    local = make_library(SKILLS)
    own = TableScorer()
    memory = two_stage.build(local, context(local, "two_stage", settings, cross_encoder=own))
    query = Query("pdf tables", k=3)
    found, wanted = over.search(query).hits, memory.search(query).hits
    assert [h.skill.id for h in found] == [h.skill.id for h in wanted]
    assert scorer.asked == own.asked
    assert any("camelot" in text for _, texts in scorer.asked for text in texts)


def test_a_model_that_rewords_sees_bodies_and_variants_are_scored(library, monkeypatch):
    _look_at_few(monkeypatch)
    body = "# Capabilities\n\n- Reads the ruled lines of quokka tables\n"
    skills = [replace(PDF, body=body, content_hash="other"), MERGE, *made_up(200)]
    library = library_of(in_memory_index(skills, ENCODER))
    variants = '{"variants": ["merge sheets into one workbook", "workbook rows"]}'
    model = ScriptedLanguageModel([variants])
    settings = {"base": "dense", "depth": 3, "top": 5}
    retriever = expand.build(library, context(library, "expand", settings, model))
    found = retriever.search(Query("extract pdf tables", k=5))
    assert found.degraded is None
    assert "quokka" in model.asked[0][1].text
    [merged] = [hit for hit in found.hits if hit.skill.id == MERGE.id]
    own = modes(library, ENCODER)("dense").search(Query("extract pdf tables", k=300)).hits
    expected = next(hit for hit in own if hit.skill.id == MERGE.id)
    assert merged.signals["semantic"] == pytest.approx(expected.signals["semantic"])


def test_a_task_is_refined_once_and_anew_when_what_was_read_changes(library):
    model = ScriptedLanguageModel([*good_script(), *good_script()])
    made = context(library, "refine", {"base": "bm25"}, model)
    retriever = refine.build(library, made)
    first = retriever.search(Query(TASK, k=5))
    assert first.degraded is None
    assert first.hits[0].skill.derived_from == (PDF.id, MERGE.id)
    assert first.hits[0].skill.trust == "trusted"
    assert retriever.search(Query(TASK, k=5)).hits == first.hits
    assert len(model.asked) == 4
    changed = replace(PDF, body="Use something else.", content_hash="changed")
    items = prepare([Unprepared(changed)], ENCODER)
    library.index.apply(items, tenant="t", encoder=ENCODER.fingerprint)
    now = library_of(library.index)
    again = refine.build(
        now, replace(context(now, "refine", {"base": "bm25"}, model), previous=retriever)
    )
    assert again.search(Query(TASK, k=5)).degraded is None
    assert len(model.asked) == 8


def test_the_best_parent_is_found_however_far_down(library, monkeypatch):
    """The query of a later turn is about something else, of which there is much."""
    _look_at_few(monkeypatch)
    skills = [PDF, MERGE, *made_up(300)]
    library = library_of(in_memory_index(skills, ENCODER))
    script = [command("detail", skill=PDF.id), finish(draft("pdf-to-workbook", PDF.id))]
    model = ScriptedLanguageModel(script)
    retriever = refine.build(library, context(library, "refine", {"base": "dense"}, model))
    query = Query("commit test deploy docker", task=TASK, follows=True, k=300)
    refined = next(h for h in retriever.search(query).hits if h.skill.source == "refined")
    plain = modes(library, ENCODER)("dense").search(replace(query, task="")).hits
    parent = next(hit for hit in plain if hit.skill.id == PDF.id)
    assert parent.rank > 20
    assert refined.signals["semantic"] == pytest.approx(parent.signals["semantic"])


def test_a_sub_agent_reads_by_id_by_name_and_only_what_it_may(library):
    settings = RefineSettings()
    get = modes(library, ENCODER)

    def told(scope, **arguments):
        commands = Commands(library, get, scope, settings)
        return commands.run("detail", arguments, 1000, 10.0).text, set(commands.read)

    for wanted in (PDF.id, "pdf-tables", f" {PDF.id} "):
        text, read = told(None, skill=wanted)
        assert "camelot" in text
        assert read == {PDF.id}
    scope = Scope("no pdf", lambda skill: "pdf" not in skill.name)
    for wanted in (PDF.id, "pdf-tables", "nobody"):
        text, read = told(scope, skill=wanted)
        assert "No skill has that id" in text
        assert read == set()


def test_a_sub_agent_is_told_that_the_library_is_out_of_reach(library, monkeypatch):
    def away(ids, tenants):
        raise IndexUnavailableError("The index is away.", "Start it.")

    commands = Commands(library, modes(library, ENCODER), None, RefineSettings())
    monkeypatch.setattr(library.index, "fetch", away)
    for name, arguments in (("detail", {"skill": PDF.id}), ("keyword", {"query": "pdf tables"})):
        assert "out of" in commands.run(name, arguments, 1000, 10.0).text
        assert not commands.complete


def test_an_id_is_understood_as_a_search_has_shown_it():
    odd = make_skill("odd", "An odd pdf tool.", "Body.", id="odd@a  b\nc")
    library = library_of(in_memory_index([odd, MERGE], ENCODER))
    commands = Commands(library, modes(library, ENCODER), None, RefineSettings())
    commands.run("keyword", {"query": "odd pdf"}, 1000, 10.0)
    text = commands.run("detail", {"skill": "odd@a b c"}, 1000, 10.0).text
    assert "Body." in text


def test_a_cached_ranking_is_read_with_its_skills_only(library):
    store = MemoryStore()
    inner = modes(library, ENCODER)("bm25")
    query = Query("pdf tables", k=3)
    computed = CachedRetriever(inner, store, "bm25", library).search(query)
    raising = RaisingRetriever(inner.fingerprint, inner.generation)
    cached = CachedRetriever(raising, store, "bm25", library).search(query)
    assert cached.cached
    assert cached.hits == computed.hits
    key = ranking_key(inner.fingerprint, inner.generation, "bm25", query)
    store.put(key, "damaged")
    assert not CachedRetriever(inner, store, "bm25", library).search(query).cached


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid", "skillsight"])
def test_a_scope_of_known_ids_is_one_question(monkeypatch, mode):
    _look_at_few(monkeypatch)
    library = library_of(in_memory_index([PDF, *made_up(300)], ENCODER))
    retriever = modes(library, ENCODER, {"skillsight": {"candidates": 3}, "hybrid": {"depth": 3}})(
        mode
    )
    asked = []
    candidates = library.index.candidates
    monkeypatch.setattr(
        library.index, "candidates", lambda query: asked.append(query) or candidates(query)
    )
    scope = Scope("one", lambda skill: skill.id == PDF.id, ids=frozenset({PDF.id}))
    hits = retriever.search(Query("pdf", k=3, scope=scope)).hits
    assert [hit.skill.id for hit in hits] == [PDF.id]
    assert len(asked) == 1
