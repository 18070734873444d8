"""``skillcue cost`` on traces that were really recorded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.asking_mode import AskingModes

from skillcue import SkillCue
from skillcue.cli import EXIT_OK, EXIT_USAGE, main
from skillcue.push.budget import estimate_tokens
from skillcue.traces.reading import join_records, read_traces
from skillcue_hooks.language import Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

VISA = "I have to fill in a PDF form for my visa application"
BANK = "Please match the bank payments of March to our open invoices"


def user(text):
    return [{"role": "user", "content": text}]


def record(example_skills, path, *, money=0.25, **options):
    """Three turns in mode ``asks``, of which the model is asked for one, and one in ``bm25``."""
    answer = Completion("x", usage=Usage(1, 700, 80, money))
    model = ScriptedLanguageModel([answer] * 9)
    with SkillCue(
        example_skills, mode="asks", llm=model, plugins=[AskingModes()], traces=path, **options
    ) as cue:
        advised = [cue.advise(user(text)) for text in (VISA, "thanks!", BANK)]
        advised.append(cue.advise(user("Clean up my podcast recording"), mode="bm25"))
    assert len(model.asked) == 1
    return advised


def cost(capsys, *args):
    code = main(["cost", *map(str, args)])
    out, err = capsys.readouterr()
    return code, out, err


def test_by_mode(example_skills, tmp_path, capsys):
    path = tmp_path / "traces.jsonl"
    visa, thanks, bank, podcast = record(example_skills, path)
    code, out, err = cost(capsys, "--from", path, "--json")
    assert (code, thanks.tokens) == (EXIT_OK, 0)
    tokens = visa.tokens + bank.tokens
    asks, bm25 = json.loads(out)["modes"]
    assert asks == {
        "mode": "asks",
        "turns": 3,
        "spoken": sum(advice.tokens > 0 for advice in (visa, bank)),
        "tokens": tokens,
        "largest": max(visa.tokens, bank.tokens),
        "loads": 0,
        "tokens_per_turn": round(tokens / 3, 3),
        "cost": {
            "calls": 1,
            "input_tokens": 700,
            "output_tokens": 80,
            "money": 0.25,
            "estimated": False,
        },
    }
    assert (bm25["mode"], bm25["turns"], bm25["tokens"]) == ("bm25", 1, podcast.tokens)
    assert bm25["cost"]["calls"] == 0
    assert "--skills" in err


AGENT = """
import sys
from skillcue import SkillCue
from skillcue.pull import PullTools

skills, path, offered = sys.argv[1:]
cue = SkillCue(skills, mode="bm25", traces=path)
tools = PullTools(cue)
visa = [{"role": "user", "content": "I have to fill in a PDF form for my visa application", "id": "1"}]
other = [{"role": "user", "content": "thanks!", "id": "2"}]
cue.advise(visa)
tools.lookup("pdf form", messages=visa)
for _ in range(2):
    tools.load(offered, messages=visa)  # again in the same turn: one
tools.load("podcast-audio-cleanup", messages=visa)
cue.advise(other, mode="skillsight")
tools.load(offered, messages=other)
tools.load(offered, messages=[{"role": "user", "content": "never decided on", "id": "3"}])
cue.close()
"""


def test_loads_of_agents_are_counted_apart_from_push(example_skills, tmp_path, capsys):
    path = tmp_path / "traces.jsonl"
    arguments = [sys.executable, "-c", AGENT, str(example_skills), str(path), "pdf-form-filling"]
    subprocess.run(arguments, check=True)
    code, out, err = cost(capsys, "--from", path, "--json")
    document = json.loads(out)
    assert code == EXIT_OK
    assert [(m["mode"], m["turns"], m["loads"]) for m in document["modes"]] == [
        ("bm25", 1, 2),
        ("skillsight", 1, 1),
    ]
    assert document["loads_elsewhere"] == 1
    assert "Loads that belong to no recorded turn, in no row: 1." in err
    _, out, _ = cost(capsys, "--from", path)
    heads, _rule, bm25 = [line.split() for line in out.splitlines()[:3]]
    assert dict(zip(heads, bm25, strict=True))["loads"] == "2"


def test_help_says_what_is_not_counted(capsys):
    _, out, _ = cost(capsys, "--help")
    assert "Searches by the agent" in out and "not in traces" in out


def test_against_a_prompt_with_the_whole_library(example_skills, tmp_path, capsys):
    path = tmp_path / "traces.jsonl"
    record(example_skills, path)
    args = ("--from", path, "--skills", example_skills)
    _, out, _ = cost(capsys, *args, "--json")
    library = json.loads(out)["library"]
    with SkillCue(example_skills, mode="bm25") as cue:
        skills = cue.snapshot().library.skills
        bodies = sum(estimate_tokens(skill.body) for skill in skills)
    catalogue = estimate_tokens("\n".join(f"{s.name}: {s.description}" for s in skills))
    assert library == {"descriptions": catalogue, "everything": catalogue + bodies}
    code, out, err = cost(capsys, *args)
    assert (code, err) == (EXIT_OK, "")
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "0.250000" in lines["asks"] and "780" not in lines["asks"]
    longest = lines["all skills with their bodies"]
    assert f"{catalogue + bodies:,}" in longest
    assert longest.count("#") == 30
    assert lines["advice, asks, largest"].count("#") == 1
    assert 1 < lines["all names and descriptions"].count("#") < 30


def test_what_the_reader_must_know_is_said(example_skills, tmp_path, capsys):
    path = tmp_path / "traces.jsonl"
    record(example_skills, path, money=None, shadow=True)
    with path.open("a") as file:
        file.write("{cut off\n")
    code, out, err = cost(capsys, "--from", path)
    assert code == EXIT_OK
    assert "unknown" in out
    assert "4 turns were in shadow" in err
    assert "1 lines are no record" in err
    assert "no price" in err


def test_nothing_recorded_and_no_file(tmp_path, capsys):
    (tmp_path / "empty.jsonl").touch()
    code, _, err = cost(capsys, "--from", tmp_path / "empty.jsonl")
    assert (code, "no decided turn" in err) == (EXIT_USAGE, True)
    code, _, err = cost(capsys, "--from", tmp_path / "nowhere.jsonl")
    assert (code, "cannot be read" in err) == (EXIT_USAGE, True)


def test_a_turn_decided_again_is_one_turn_and_each_call_was_paid(example_skills, tmp_path):
    path = tmp_path / "traces.jsonl"
    record(example_skills, path)
    record(example_skills, path)  # as a second process: the same conversation, a memory of its own
    traces = read_traces(path)
    assert len(traces.turns) == 4
    assert traces.spent["asks"] == Usage(2, 1400, 160, 0.5)


def test_a_turn_decided_in_another_mode_leaves_its_cost_to_the_first(example_skills, tmp_path):
    path = tmp_path / "traces.jsonl"
    answer = Completion("x", usage=Usage(1, 700, 80, 0.25))
    model = ScriptedLanguageModel([answer])
    with SkillCue(
        example_skills, mode="asks", llm=model, plugins=[AskingModes()], traces=path
    ) as cue:
        cue.advise(user(VISA))
        cue.advise(user(VISA), mode="bm25")
    traces = read_traces(path)
    assert [turn.mode for turn in traces.turns] == ["bm25"]
    assert traces.spent == {"asks": Usage(1, 700, 80, 0.25), "bm25": Usage()}


def test_advice_costs_once_and_a_replay_nothing(example_skills, tmp_path):
    path = tmp_path / "traces.jsonl"
    visa, thanks, *_ = record(example_skills, path)
    assert visa.cost == Usage(1, 700, 80, 0.25)
    assert thanks.cost == Usage()
    model = ScriptedLanguageModel([Completion("x", usage=Usage(1, 700, 80, 0.25))])
    with SkillCue(example_skills, mode="asks", llm=model, plugins=[AskingModes()]) as cue:
        assert cue.advise(user(VISA)).cost.calls == 1
        assert cue.advise(user(VISA)).cost == Usage()
        again = (
            cue.advisor("skill_load").plan(user(VISA)).advice
        )  # decided anew on a cached ranking
    assert (again.decision, again.cost) == ("offer", Usage())


def test_lines_without_a_cost_are_of_before_there_was_one(example_skills, tmp_path):
    path = tmp_path / "traces.jsonl"
    record(example_skills, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["cost"]
    assert join_records(lines).spent == {"asks": Usage(), "bm25": Usage()}
    lines[0]["cost"] = {"calls": "many"}
    assert join_records(lines).skipped == 1


@pytest.mark.parametrize("missing", [["cost"], ["cost", "--from"]])
def test_wrong_usage(missing, capsys):
    assert main(missing) == EXIT_USAGE
    capsys.readouterr()
