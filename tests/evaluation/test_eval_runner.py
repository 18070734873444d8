"""Real runs of real modes: nothing missed, nothing cached, the same in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.evaluations import CORPUS, QUERIES, evaluate, load, write_lines, write_qrels

from skillcue.evaluation.datasets import Reading
from skillcue.evaluation.document import SCHEMA, VERSION
from skillcue.evaluation.runner import DEPTH, WARM_UP, RunSettings, run_modes
from skillcue_adapters.encoders import minilm
from skillcue_hooks.errors import ConfigurationError, UnknownModeError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "evaluation"
ENCODER = type(minilm.build(""))


def quiet(*_progress):
    """Progress that nobody looks at."""


def test_a_query_without_hits_counts_as_zero_and_is_named(folder):
    write_lines(folder / "queries.jsonl", [*QUERIES[:2], {"_id": "q3", "text": "xyzzy"}])
    document = evaluate(load(folder), ["bm25"])
    (mode,) = document["modes"]
    assert mode["without_hits"] == ["q3"]
    assert mode["means"]["R@5"]["mean"] == pytest.approx(2 / 3)
    assert mode["recall"] == [pytest.approx(2 / 3)] * DEPTH
    (missed,) = [query for query in document["queries"] if query["id"] == "q3"]
    assert missed["modes"]["bm25"]["top"] == []
    assert missed["modes"]["bm25"]["gold_ranks"] == {"g/tyres": None}
    assert set(missed["modes"]["bm25"]["scores"].values()) == {0.0}


def test_the_document_says_what_was_measured(folder):
    document = evaluate(load(folder), ["bm25"])
    assert (document["schema"], document["version"]) == (SCHEMA, VERSION)
    assert document["dataset"]["hash"] == load(folder).hash
    assert document["measured"]["versions"].keys() >= {"skillcue", "ir_measures", "numpy"}
    assert document["settings"]["modes"] == ["bm25"]
    first = document["queries"][0]
    assert first["gold"] == [{"id": "g/bread", "name": "bread", "grade": 1}]
    assert first["modes"]["bm25"]["gold_ranks"] == {"g/bread": 1}
    assert first["modes"]["bm25"]["top"][0] == {"id": "g/bread", "name": "bread"}
    times = document["modes"][0]["times"]
    assert 0 < times["p50_ms"] <= times["p95_ms"]


def test_tokens_against_loading_everything(folder):
    from skillcue.push.budget import estimate_tokens

    document = evaluate(load(folder), ["bm25"])
    catalogue = "\n".join(
        f"{s.name}: {s.description}"
        for s in sorted(load(folder).skills.values(), key=lambda s: s.id)
    )
    bodies = sum(estimate_tokens(skill.body) for skill in load(folder).skills.values())
    assert document["load_all"] == {
        "descriptions": estimate_tokens(catalogue),
        "bodies": bodies,
        "tokens": estimate_tokens(catalogue) + bodies,
    }
    assert document["modes"][0]["tokens"]["mean"] > 20
    one = evaluate(load(folder), ["bm25"], k=1)
    assert one["modes"][0]["tokens"]["most"] <= document["modes"][0]["tokens"]["most"]


def test_the_second_view_is_passed_on(folder):
    asked = {"_id": "q1", "text": "please help", "short": "please help", "task": "bake bread"}
    write_lines(folder / "queries.jsonl", [asked])
    write_qrels(folder / "qrels.tsv", [("q1", "g/bread", 1)])
    blind, seeing = (
        run_modes(load(folder, Reading(context=field)), ["skillsight"], RunSettings(), quiet)[0][0]
        for field in ("", "task")
    )
    assert seeing.ranked["q1"][0] == "g/bread"
    scores = [run.hits["q1"][0].score for run in (blind, seeing)]
    assert scores[0] != scores[1]


@pytest.fixture
def encoded(monkeypatch):
    """What the real encoder is asked to encode: queries, and documents."""
    asked = {"queries": [], "documents": []}
    for kind in asked:
        inner = getattr(ENCODER, f"encode_{kind}")

        def spy(self, texts, kind=kind, inner=inner):
            asked[kind] += texts
            return inner(self, texts)

        monkeypatch.setattr(ENCODER, f"encode_{kind}", spy)
    return asked


def test_no_mode_finds_what_another_has_encoded(folder, encoded):
    """Mode hybrid asks mode dense: in one library the second of them would look instant."""
    run_modes(load(folder), ["hybrid", "dense"], RunSettings(), quiet)
    for query in QUERIES:
        assert encoded["queries"].count(query["text"]) == 2


def test_skills_are_encoded_once_for_all_modes(folder, encoded):
    fresh = [
        {**skill, "text": f"{skill['text']} Not seen by this process yet."} for skill in CORPUS
    ]
    write_lines(folder / "corpus.jsonl", fresh)
    run_modes(load(folder), ["hybrid", "dense", "skillsight"], RunSettings(), quiet)
    assert len(encoded["documents"]) == len(set(encoded["documents"])) == 3


def test_a_mode_without_vectors_loads_no_model(folder, encoded):
    run_modes(load(folder), ["bm25"], RunSettings(), quiet)
    assert encoded == {"queries": [], "documents": []}


def test_large_pools_are_encoded_before_anything_is_asked(folder, distracted):
    distracted("distractors.jsonl", 600)
    seen = []
    dataset = load(folder, Reading(pool=603))
    (run,), _ = run_modes(
        dataset, ["dense"], RunSettings(encoder="static"), lambda *step: seen.append(step)
    )
    assert run.degraded == {}
    assert run.ranked["q1"][0] == "g/bread"
    assert seen[-1] == ("asking dense", 3, 3)
    assert seen[0][0] == "indexing for dense"


def test_a_mode_that_never_gets_ready_is_an_error(folder, distracted, monkeypatch):
    distracted("distractors.jsonl", 600)

    def broken(self, texts):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(ENCODER, "encode_documents", broken)
    with pytest.raises(ConfigurationError, match=r"'dense' does not get ready: .*out of memory"):
        run_modes(load(folder, Reading(pool=603)), ["dense"], RunSettings(), quiet)


def test_unknown_modes_and_encoders(folder):
    with pytest.raises(UnknownModeError, match="skillsite"):
        run_modes(load(folder), ["bm25", "skillsite"], RunSettings(), quiet)
    with pytest.raises(ConfigurationError, match="Unknown encoder 'minlim'"):
        run_modes(load(folder), ["bm25"], RunSettings(encoder="minlim"), quiet)


def test_what_the_last_mode_lacks_shows_before_the_first_one_runs(folder):
    seen = []
    with pytest.raises(ConfigurationError, match="'two_stage' has no cross-encoder"):
        run_modes(
            load(folder), ["bm25", "two_stage"], RunSettings(), lambda *step: seen.append(step)
        )
    assert seen == []


def test_warm_up_asks_nothing_of_the_dataset():
    assert not {query["text"] for query in QUERIES} & set(WARM_UP)


def without_times(document):
    modes = [{k: v for k, v in mode.items() if k != "times"} for mode in document["modes"]]
    rest = {k: v for k, v in document.items() if k not in ("measured", "modes")}
    return {**rest, "modes": modes}


def test_apart_from_times_the_document_is_the_same_in_every_process():
    documents = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "skillcue", "eval", str(EXAMPLES), "--json", "-"],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed},
            capture_output=True,
            check=True,
        )
        documents.append(json.loads(done.stdout))
    first, second = map(without_times, documents)
    assert json.dumps(first) == json.dumps(second)


def test_a_cold_and_a_warm_index_and_none_give_the_same_document(folder, distracted, tmp_path):
    """Large enough to be encoded and loaded in the background; each run in a process of its own."""
    distracted("distractors.jsonl", 600)
    options = ("--pool", "603", "--modes", "skillsight", "--encoder", "static", "--json", "-")
    cache = ("--cache", str(tmp_path / "cache"))
    documents = []
    for more in ((), cache, cache):
        done = subprocess.run(
            [sys.executable, "-m", "skillcue", "eval", str(folder), *options, *more],
            capture_output=True,
            check=True,
        )
        assert b"cheaper path" not in done.stderr
        documents.append(without_times(json.loads(done.stdout)))
    assert documents[0] == documents[1] == documents[2]
    assert any((tmp_path / "cache").iterdir())


def test_the_example_dataset_covers_every_skill(example_document):
    library = {p.parent.name for p in (EXAMPLES.parent / "skills").rglob("SKILL.md")}
    gold = {skill["name"] for query in example_document["queries"] for skill in query["gold"]}
    assert gold == library
    assert example_document["dataset"]["skills"] == len(library)
    assert example_document["dataset"]["unjudged"] == []
    assert 40 <= len(example_document["queries"]) <= 60


def test_the_oblique_queries_of_the_example_do_not_echo():
    from skillcue.evaluation.echo import echo_rate

    dataset = load(EXAMPLES)
    records = map(json.loads, (EXAMPLES / "queries.jsonl").read_text("utf-8").splitlines())
    styles = {record["_id"]: record["style"] for record in records}
    rates = {"plain": [], "oblique": []}
    for question in dataset.questions:
        gold = [dataset.skills[name] for name in question.gold]
        rates[styles[question.id]].append(echo_rate(question.text, gold, heads=True))
    means = {style: sum(found) / len(found) for style, found in rates.items()}
    assert means["oblique"] < 0.2 < means["plain"]


def test_messages_that_nothing_answers_are_judged_nowhere():
    path = EXAMPLES / "unanswered.jsonl"
    unanswered = {json.loads(line)["_id"] for line in path.read_text("utf-8").splitlines()}
    assert len(unanswered) >= 5
    assert not unanswered & {question.id for question in load(EXAMPLES).questions}


def test_the_cache_folder_never_answers_a_query(folder, encoded, tmp_path):
    settings = RunSettings(cache=tmp_path / "cache")
    for _ in range(2):
        run_modes(load(folder), ["dense"], settings, quiet)
    for query in QUERIES:
        assert encoded["queries"].count(query["text"]) == 2
    assert not (tmp_path / "cache" / "rankings").exists()


def test_the_halves_by_echo_are_all_queries(example_document):
    few, many = example_document["by_echo"]
    assert few["n"] + many["n"] == len(example_document["queries"])
    assert few["low"] <= few["high"] <= many["low"] <= many["high"]
    for mode in example_document["modes"]:
        total = sum(half["n"] * half["means"][mode["mode"]] for half in (few, many))
        assert total / (few["n"] + many["n"]) == pytest.approx(mode["means"]["R@5"]["mean"])
