"""Layouts that people have, and mistakes that they make: each with file and line."""

from __future__ import annotations

import gzip
import json

import pytest
from conftest import write_skill
from support.evaluations import CORPUS, QRELS, QUERIES, load, write_lines, write_qrels

from skillcue.evaluation.datasets import Reading
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError


def ids(dataset):
    return [question.id for question in dataset.questions]


def test_plain_files(folder):
    dataset = load(folder)
    assert ids(dataset) == ["q1", "q2", "q3"]
    assert list(dataset.skills) == ["g/bread", "g/tyres", "g/taxes"]
    assert dataset.questions[1].gold == {"g/taxes": 2}
    assert dataset.questions[1].text == "tax return and receipts"
    assert dataset.skills["g/bread"].body == "Knead dough."
    assert (dataset.name, dataset.distractors, dataset.unjudged) == ("data", 0, ())


def test_compressed_files_are_the_same_dataset(folder, tmp_path):
    packed = tmp_path / "packed"
    write_lines(packed / "corpus.jsonl.gz", CORPUS)
    write_lines(packed / "queries.jsonl.gz", QUERIES)
    write_qrels(packed / "qrels.tsv.gz", QRELS)
    assert load(packed).hash == load(folder).hash
    assert load(packed).questions == load(folder).questions


def test_the_hash_covers_skills_bodies_queries_and_judgments(folder):
    before = load(folder).hash
    changes = [
        lambda: write_lines(folder / "corpus.jsonl", [{**CORPUS[0], "body": "x"}, *CORPUS[1:]]),
        lambda: write_lines(folder / "queries.jsonl", [{**QUERIES[0], "text": "x"}, *QUERIES[1:]]),
        lambda: write_qrels(folder / "qrels.tsv", [("q1", "g/tyres", 1), *QRELS[1:]]),
    ]
    seen = {before}
    for change in changes:
        change()
        seen.add(load(folder).hash)
    assert len(seen) == 4


def test_splits(folder):
    (folder / "queries.jsonl").rename(folder / "queries-dev.jsonl")
    (folder / "qrels.tsv").rename(folder / "qrels-dev.tsv")
    write_lines(folder / "queries-test.jsonl", [{"_id": "t1", "text": "bread"}])
    write_qrels(folder / "qrels-test.tsv", [("t1", "g/bread", 1)])
    assert ids(load(folder, split="dev")) == ["q1", "q2", "q3"]
    assert ids(load(folder, split="test")) == ["t1"]
    with pytest.raises(ConfigurationError, match=r"several files of queries: queries-dev.jsonl"):
        load(folder)
    with pytest.raises(ConfigurationError, match=r"no judgments .* of split 'train'"):
        load(folder, split="train", queries=folder / "queries-dev.jsonl")


def test_the_layout_of_beir_itself(folder):
    (folder / "qrels.tsv").unlink()
    write_qrels(folder / "qrels" / "test.tsv", QRELS[:2])
    write_qrels(folder / "qrels" / "dev.tsv", QRELS[2:])
    test = load(folder, split="test")
    assert (ids(test), test.unjudged) == (["q1", "q2"], ("q3",))
    assert ids(load(folder, split="dev")) == ["q3"]


def test_files_can_be_named_from_anywhere_or_inside(folder, tmp_path):
    write_lines(tmp_path / "mine.jsonl", [{"_id": "m", "text": "bread"}])
    write_qrels(folder / "other.tsv", [("m", "g/bread", 1)])
    dataset = load(folder, queries=tmp_path / "mine.jsonl", qrels=folder / "other.tsv")
    assert ids(dataset) == ["m"]


def test_field_and_context(folder):
    short = load(folder, Reading(field="short", context="text")).questions[0]
    assert (short.text, short.context) == ("bread", "bake a loaf of bread")
    assert load(folder, Reading(context="")).questions[0].context == ""
    with pytest.raises(ConfigurationError, match=r"queries.jsonl:1: there is no 'shrot'") as error:
        load(folder, Reading(field="shrot"))
    assert "_id, short, text" in error.value.cure


def test_the_pool_is_the_corpus_and_the_first_distractors(folder, distracted):
    distracted("market.jsonl.gz", 10)
    assert len(load(folder).skills) == 3
    dataset = load(folder, Reading(pool=7))
    assert list(dataset.skills)[3:] == ["d0", "d1", "d2", "d3"]
    assert dataset.distractors == 4
    assert "have bodies and the distractors have none" in dataset.notes[0]
    assert load(folder, Reading(pool=7, heads=True)).notes == ()
    assert not any(s.body for s in load(folder, Reading(heads=True)).skills.values())


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (2, "pool of 2 is smaller than the corpus of 3 skills"),
        (14, "should have 14 skills; 3 of the corpus and all of .* are 13"),
    ],
)
def test_pools_that_there_are_not(folder, distracted, pool, said):
    distracted("distractors.jsonl", 10)
    with pytest.raises(ConfigurationError, match=said):
        load(folder, Reading(pool=pool))


def test_which_distractors(folder, distracted):
    with pytest.raises(ConfigurationError, match=r"has no distractors\*.jsonl"):
        load(folder, Reading(pool=4))
    distracted("market.jsonl.gz", 2)
    distracted("bodies.jsonl.gz", 5)
    with pytest.raises(ConfigurationError, match=r"several .*: bodies.jsonl.gz, market.jsonl.gz"):
        load(folder, Reading(pool=4))
    dataset = load(folder, Reading(pool=8), distractors=folder / "bodies.jsonl.gz")
    assert len(dataset.skills) == 8


def test_equal_texts_stay_apart_so_that_the_pool_has_its_size(folder):
    write_lines(
        folder / "distractors.jsonl",
        [{**CORPUS[0], "_id": f"copy{n}"} for n in range(4)],
    )
    dataset = load(folder, Reading(pool=7))
    from skillcue import SkillCue

    with SkillCue(list(dataset.sources), mode="bm25", cache=False) as cue:
        assert len(cue.list()) == 7
        assert len(cue.lookup("bread", k=9).hits) == 5


def test_skills_from_a_folder_are_judged_by_name(folder, tmp_path):
    (folder / "corpus.jsonl").unlink()
    for name in ("g-bread", "g-tyres", "g-taxes"):
        write_skill(tmp_path / "skills", name, f"All about {name}.")
    write_qrels(folder / "qrels.tsv", [(q, s.replace("/", "-"), n) for q, s, n in QRELS])
    with pytest.raises(ConfigurationError, match=r"no corpus\.jsonl"):
        load(folder)
    named = load(folder, skills=(str(tmp_path / "skills"),))
    assert list(named.questions[0].gold) == ["g-bread@g-bread"]
    (folder / "dataset.json").write_text('{"skills": ["../skills"]}')
    assert load(folder).hash == named.hash
    bare = load(folder, Reading(heads=True))
    assert not any(skill.body for skill in bare.skills.values())
    assert ids(bare) == ids(named)
    with pytest.raises(LibraryNotFoundError):
        load(folder, skills=(str(tmp_path / "nowhere"),))
    with pytest.raises(ConfigurationError, match="--pool 9 needs a corpus file"):
        load(folder, Reading(pool=9))


@pytest.mark.parametrize("text", ["[1]", "{", '{"skills": "x"}', '{"skills": []}', '{"skils": []}'])
def test_a_dataset_file_that_names_no_skills(folder, text):
    (folder / "dataset.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"dataset.json"):
        load(folder)


def test_queries_without_judgments_are_reported(folder):
    write_qrels(folder / "qrels.tsv", [QRELS[0], ("q2", "g/taxes", 0)])
    dataset = load(folder)
    assert (ids(dataset), dataset.unjudged) == (["q1"], ("q2", "q3"))
    write_qrels(folder / "qrels.tsv", [("q2", "g/taxes", 0)])
    with pytest.raises(ConfigurationError, match=r"No query of .* is judged in"):
        load(folder)


def line(value):
    return json.dumps(value) + "\n"


BAD_RECORDS = {
    "no JSON": ("{oops\n", 1, "this is no JSON"),
    "deeply nested": ("[" * 100_000 + "\n", 1, "this is no JSON"),
    "a list": (line(CORPUS[0]) + "[1]\n", 2, "this is a list"),
    "no id": (line({"title": "x"}), 1, "there is no '_id'"),
    "empty id": (line({"_id": " "}), 1, "'_id' is empty"),
    "id is a number": (line({"_id": 7}), 1, "'_id' is a int"),
    "text is a list": (line({"_id": "x", "text": ["a"]}), 1, "'text' is a list"),
    "an id twice": (
        line(CORPUS[0]) + "\n" + line(CORPUS[0]),
        3,
        "'g/bread' stands in .*:1 already",
    ),
}


@pytest.mark.parametrize("text, number, said", BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_malformed_lines_are_named(folder, text, number, said):
    path = folder / "corpus.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=f"corpus.jsonl:{number}: .*{said}"):
        load(folder)
    path.unlink()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ConfigurationError, match=f"corpus.jsonl.gz:{number}: .*{said}"):
        load(folder)


def test_an_id_in_corpus_and_distractors_is_an_error(folder):
    write_lines(folder / "distractors.jsonl", [CORPUS[1]])
    with pytest.raises(ConfigurationError, match=r"distractors.jsonl:1: .*corpus.jsonl:2 already"):
        load(folder, Reading(pool=4))


BAD_QRELS = {
    "two values": ("q1\tg/bread\n", 1, "there are 2 values"),
    "blanks for tabs": ("q1 g/bread 1\n", 1, "there are 1 values"),
    "an empty value": ("q1\t\t1\n", 1, "there are 2 values"),
    "a fraction": ("h\th\tscore\nq1\tg/bread\t0.5\n", 2, "the grade is '0.5'"),
    "a grade beyond all bounds": ("q1\tg/bread\t101\n", 1, "the grade is '101'"),
    "a pair twice": ("q1\tg/bread\t1\nq1\tg/bread\t1\n", 2, "judged on line 1 already"),
    "an unknown query": ("q1\tg/bread\t1\n\nq9\tg/bread\t1\n", 3, "no query 'q9'"),
    "an unknown skill": ("q1\tg/bred\t1\n", 1, "no skill 'g/bred'"),
}


@pytest.mark.parametrize("text, number, said", BAD_QRELS.values(), ids=BAD_QRELS)
def test_malformed_judgments_are_named(folder, text, number, said):
    (folder / "qrels.tsv").write_text(text)
    with pytest.raises(ConfigurationError, match=f"qrels.tsv:{number}: .*{said}"):
        load(folder)


def test_an_unknown_skill_comes_with_the_closest(folder):
    (folder / "qrels.tsv").write_text("q1\tg/bred\t1\n")
    with pytest.raises(ConfigurationError) as error:
        load(folder)
    assert error.value.cure == "Closest: g/bread, g/tyres."


def test_files_that_cannot_be_read(folder, tmp_path):
    with pytest.raises(ConfigurationError, match="is no folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load(folder, queries=tmp_path / "nowhere.jsonl")
    (folder / "queries.jsonl").write_bytes(line(QUERIES[0]).encode() + b"\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"queries.jsonl:\d: this is no UTF-8 text"):
        load(folder)
    (folder / "queries.jsonl").unlink()
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress(line(QUERIES[0]).encode())[:-9])
    with pytest.raises(ConfigurationError, match=r"queries.jsonl.gz:\d+: the gzip file is damaged"):
        load(folder)
    (folder / "queries.jsonl.gz").write_bytes(b"plain text")
    with pytest.raises(ConfigurationError, match=r"queries.jsonl.gz:1: the gzip file is damaged"):
        load(folder)


def test_a_byte_order_mark_and_windows_lines_do_not_matter(folder):
    before = load(folder).hash
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load(folder).hash == before
