"""search, explain, list, load, plugins: what they print, as text and as JSON."""

from __future__ import annotations

import json
import os

import pytest
from conftest import write_skill

from skillcue import SkillCue
from skillcue.commands.signals import MEANINGS
from skillcue_hooks.testing import ScriptedLanguageModel


def test_search_prints_the_ranking_of_the_library(process, example_skills):
    result = process("search", "fill in a pdf form", "--skills", example_skills, "--k", 2)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[2].split()[:2] == ["1", "pdf-form-filling"]
    assert lines[-1].startswith("2 of ")
    with SkillCue(example_skills) as cue:
        score = cue.lookup("fill in a pdf form").hits[0].score
    assert f"{score:.2f}" in lines[2]


def test_search_json_is_one_document_with_what_lookup_answers(process, example_skills):
    result = process("search", "fill in a pdf form", "--skills", example_skills, "--json")
    with SkillCue(example_skills) as cue:
        hits = cue.lookup("fill in a pdf form").hits
    assert [hit["id"] for hit in result.json["hits"]] == [hit.skill.id for hit in hits]
    assert [hit["score"] for hit in result.json["hits"]] == [hit.score for hit in hits]
    assert set(result.json["hits"][0]["signals"]) == set(hits[0].signals)


def test_context_changes_the_order(cli, example_skills):
    query = ("search", "and the report for April?", "--skills", example_skills, "--json")
    plain = cli(*query).json
    helped = cli(*query, "--context", "match bank transfers with open invoices").json
    assert [h["id"] for h in plain["hits"]] != [h["id"] for h in helped["hits"]]


def test_filters_hold_together(cli, example_skills):
    found = cli("search", "report", "--skills", example_skills, "--k", 99, "--json").json["hits"]
    some = cli(
        *("search", "report", "--skills", example_skills, "--k", 99, "--json"),
        *("--filter", "category=finance", "--filter", "tag=accounting"),
    ).json["hits"]
    wanted = [h["id"] for h in found if h["category"] == "finance" and "accounting" in h["tags"]]
    assert [hit["id"] for hit in some] == wanted
    assert 0 < len(some) < len(found)


def test_no_match_is_exit_code_1_with_a_cure(cli, example_skills):
    lexical = ("--skills", example_skills, "--mode", "bm25")
    result = cli("search", "xyzzy", *lexical)
    assert (result.code, result.out) == (1, "")
    assert "No skill matches." in result.err
    as_json = cli("search", "xyzzy", *lexical, "--json")
    assert (as_json.code, as_json.json["hits"]) == (1, [])


def test_explain_shows_every_signal_with_its_meaning_and_the_gate(process, example_skills):
    result = process(
        "explain", "fill in a pdf form", "--skills", example_skills, env={"COLUMNS": "160"}
    )
    assert (result.code, result.err) == (0, "")
    with SkillCue(example_skills) as cue:
        best = cue.lookup("fill in a pdf form").hits[0]
        advice = cue.advise([{"role": "user", "content": "fill in a pdf form"}])
    for signal, value in best.signals.items():
        line = next(line for line in result.out.splitlines() if line.startswith(f"{signal} "))
        assert f"{value:.3f}" in line
        assert MEANINGS[signal] in line
    assert f"confidence   {advice.confidence:.2f}, threshold {advice.threshold:.2f}" in result.out
    assert advice.reason in result.out
    for rejection in advice.rejected:
        assert rejection.hit.skill.name in result.out
        assert rejection.reason in result.out


class SharedLetters:
    """A pair scorer that needs no model."""

    fingerprint = "shared letters"

    def score(self, query, texts):
        return [float(len(set(query) & set(text))) for text in texts]


def test_every_signal_of_the_built_in_modes_has_a_meaning(example_skills):
    model = ScriptedLanguageModel([json.dumps({"command": "finish", "skills": []})])
    with SkillCue(example_skills, bodies="all", cross_encoder=SharedLetters(), llm=model) as cue:
        for mode in cue.modes:
            (hit, *_) = cue.lookup("fill in a pdf form", mode=mode).hits
            assert set(hit.signals) <= set(MEANINGS)


def test_explain_says_which_field_matched(cli, tmp_path):
    write_skill(tmp_path, "alpha", "Waters a garden.", "# Steps\n\nTulips first.\n")
    hit = cli("explain", "garden tulips", "--skills", tmp_path, "--json").json["hits"][0]
    assert hit["matched_in"] == {"description": ["garden"], "body": ["tulip"]}


def test_explain_says_when_push_stays_silent(cli, example_skills):
    result = cli("explain", "thank you so much", "--skills", example_skills)
    assert result.code == 0
    assert "stay silent" in result.out
    with SkillCue(example_skills) as cue:
        assert cue.advise([{"role": "user", "content": "thank you so much"}]).reason in result.out


def test_explain_conversation_decides_on_each_turn_as_the_advisor_does(cli, example_skills):
    file = example_skills.parent / "conversations" / "month-end.json"
    messages = json.loads(file.read_text("utf-8"))["messages"]
    with SkillCue(example_skills, wait=True) as cue:
        expected = [
            cue.advise(messages[: position + 1])
            for position, message in enumerate(messages)
            if message["role"] == "user"
        ]
    turns = cli("explain", "--conversation", file, "--skills", example_skills, "--json").json[
        "turns"
    ]
    assert [turn["push"]["decision"] for turn in turns] == [a.decision for a in expected]
    assert [turn["push"]["ids"] for turn in turns] == [
        [h.skill.id for h in a.hits] for a in expected
    ]
    assert [turn["push"]["reason"] for turn in turns] == [a.reason for a in expected]
    assert {"offer", "abstain"} == {turn["push"]["decision"] for turn in turns}
    text = cli("explain", "--conversation", file, "--skills", example_skills)
    assert text.code == 0
    assert text.out.count("\nturn ") == len(turns)


def test_list_is_sorted_and_filtered(cli, example_skills):
    every = cli("list", "--skills", example_skills, "--json").json
    with SkillCue(example_skills) as cue:
        assert [s["id"] for s in every["skills"]] == [skill.id for skill in cue.list()]
    finance = cli("list", "--category", "finance", "--skills", example_skills, "--json").json
    assert {s["category"] for s in finance["skills"]} == {"finance"}
    assert finance["skills"] == [s for s in every["skills"] if s["category"] == "finance"]
    tag = every["skills"][0]["tags"][0]
    tagged = cli("list", "--tag", tag, "--skills", example_skills, "--json").json["skills"]
    assert tagged == [s for s in every["skills"] if tag in s["tags"]]
    text = cli("list", "--category", "finance", "--skills", example_skills)
    assert all(skill["name"] in text.out for skill in finance["skills"])


def test_a_category_is_not_the_beginning_of_another(cli, tmp_path):
    write_skill(tmp_path / "data", "a", "One thing.")
    write_skill(tmp_path / "database", "b", "Another thing.")
    write_skill(tmp_path / "data" / "csv", "c", "A third thing.")
    found = cli("list", "--category", "data", "--skills", tmp_path, "--json").json["skills"]
    assert [skill["name"] for skill in found] == ["a", "c"]


def test_an_unknown_category_names_those_there_are(cli, example_skills):
    result = cli("list", "--category", "cooking", "--skills", example_skills)
    assert result.code == 1
    assert "home-garden" in result.err


def test_load_prints_the_body_and_only_that_on_stdout(process, example_skills):
    result = process("load", "pdf-form-filling", "--skills", example_skills)
    with SkillCue(example_skills) as cue:
        assert result.out == cue.load("pdf-form-filling").text.rstrip("\n") + "\n"
    assert "scripts/fill_form.py" in result.err
    file = process(
        *("load", "pdf-form-filling", "--file", "scripts/fill_form.py"),
        *("--skills", example_skills),
    )
    assert file.out == (example_skills / "office/pdf-form-filling/scripts/fill_form.py").read_text(
        "utf-8"
    )


def test_a_large_skill_comes_in_pages_that_make_up_the_whole(cli, tmp_path):
    body = "".join(f"Line {number} of a long skill.\n" for number in range(50_000))
    assert len(body) > 1_200_000
    write_skill(tmp_path, "long", "Says a lot.", body)
    first = cli("load", "long", "--skills", tmp_path)
    assert first.code == 0
    assert "page 1 of" in first.err
    assert "next: --page 2" in first.err
    document = cli("load", "long", "--skills", tmp_path, "--json").json
    pages = [
        cli("load", "long", "--skills", tmp_path, "--page", page, "--json").json["text"]
        for page in range(1, document["pages"] + 1)
    ]
    assert "".join(pages).strip() == body.strip()
    last = cli("load", "long", "--skills", tmp_path, "--page", document["pages"])
    assert "the last one" in last.err


def test_plugins_lists_hooks_and_modes(process, cli):
    records = process("plugins", "--json").json["plugins"]
    builtin = next(record for record in records if record["name"] == "builtin")
    assert {"bm25", "dense", "hybrid", "skillsight"} <= set(builtin["modes"])
    assert builtin["encoders"] == ["minilm", "onnx", "st", "static"]
    assert builtin["hooks"] == ["skillcue_register_encoders", "skillcue_register_retrievers"]
    assert builtin["distribution"] == "skillcue"
    text = cli("plugins")
    assert text.code == 0
    assert all(record["name"] in text.out for record in records)


def test_a_blocked_plugin_is_shown_as_blocked(process):
    result = process("plugins", "--json", env={"SKILLCUE_BLOCK_PLUGINS": "llamaindex"})
    blocked = [r["name"] for r in result.json["plugins"] if r["blocked"]]
    assert blocked == ["llamaindex"]


@pytest.mark.parametrize("command", ["search", "explain", "list", "doctor", "load"])
def test_equal_input_gives_equal_bytes_in_any_process(process, example_skills, command):
    what = {"search": ["fill in a form"], "explain": ["fill in a form"], "load": ["csv-cleaning"]}
    runs = {
        process(
            command,
            *what.get(command, []),
            *("--skills", example_skills),
            *options,
            env={"PYTHONHASHSEED": seed},
        ).out
        for seed in ("1", "77")
        for options in (["--json"],)
    }
    assert len(runs) == 1


def test_the_environment_names_the_library(process, tmp_path, example_skills):
    write_skill(tmp_path / "mine", "alpha", "Does alpha things.")
    both = os.pathsep.join([str(tmp_path / "mine"), str(example_skills / "office")])
    listed = process("list", "--json", env={"SKILLCUE_SKILLS": both}, cwd=tmp_path).json
    names = {skill["name"] for skill in listed["skills"]}
    assert {"alpha", "pdf-form-filling"} <= names


@pytest.mark.parametrize("folder", ["skills", ".claude/skills", ".agents/skills"])
def test_the_working_directory_may_hold_the_library(process, tmp_path, folder):
    write_skill(tmp_path / folder, "alpha", "Does alpha things.")
    listed = process("list", "--json", cwd=tmp_path)
    assert [skill["name"] for skill in listed.json["skills"]] == ["alpha"]


def test_the_earlier_source_wins(cli, tmp_path):
    write_skill(tmp_path / "one", "alpha", "The first.")
    write_skill(tmp_path / "two", "alpha", "The second.")
    two, one = ("--skills", tmp_path / "two"), ("--skills", tmp_path / "one")
    assert "second" in cli("load", "alpha", *two, *one, "--json").json["skill"]["description"]
    assert "first" in cli("load", "alpha", *one, *two, "--json").json["skill"]["description"]


@pytest.mark.parametrize("width", ["1", "12", "40", "200"])
def test_text_fits_any_width_and_loses_nothing(cli, example_skills, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    for command in (["list"], ["search", "pdf form"], ["explain", "pdf form"], ["doctor"]):
        result = cli(*command, "--skills", example_skills)
        assert result.code == 0
        if int(width) >= 40:
            assert max(map(len, result.out.splitlines())) <= int(width)
            assert "pdf-form-filling" in result.out or command == ["doctor"]


def test_colours_only_on_a_terminal_and_never_with_no_color(terminal, process, example_skills):
    arguments = ("explain", "pdf", "--skills", example_skills)
    assert "\x1b[1m" in terminal(*arguments).out
    assert "\x1b[" not in terminal(*arguments, env={"NO_COLOR": "1", "TERM": "dumb"}).out
    assert "\x1b[3" not in terminal(*arguments, env={"NO_COLOR": "1"}).out
    assert "\x1b" not in process(*arguments).out
