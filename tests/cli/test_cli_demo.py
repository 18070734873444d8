"""demo: the conversation in both frameworks, with numbers from the run itself."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import write_skill
from support.anthropic_server import anthropic_server

from skillcue import SkillCue
from skillcue.demo.made_up import MADE_UP_NOTICE
from skillcue.demo.models import SCRIPTED_NOTICE
from skillcue.push.budget import estimate_tokens

ROOT = Path(__file__).parents[2]
CONVERSATION = ROOT / "examples" / "conversations" / "month-end.json"


def user_texts() -> list[str]:
    messages = json.loads(CONVERSATION.read_text("utf-8"))["messages"]
    return [message["content"] for message in messages if message["role"] == "user"]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def played() -> dict:
    """The default demo, as a process, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "skillcue", "demo", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_default_demo_plays_the_example_in_both_frameworks(played):
    assert played["model"] == "scripted"
    assert [run["framework"] for run in played["runs"]] == ["langgraph", "llamaindex"]
    for run in played["runs"]:
        assert [turn["user"] for turn in run["turns"]] == user_texts()


def test_decisions_are_those_of_the_advisor_and_equal_in_both_frameworks(played, example_skills):
    langgraph, llamaindex = (
        [{k: v for k, v in turn["push"].items() if k != "elapsed_ms"} for turn in run["turns"]]
        for run in played["runs"]
    )
    assert langgraph == llamaindex
    with SkillCue(example_skills) as cue:
        first = cue.advise([{"role": "user", "content": user_texts()[0]}])
    assert langgraph[0]["skills"] == [hit.skill.name for hit in first.hits]
    assert langgraph[0]["tokens"] == first.tokens
    assert langgraph[0]["reason"] == first.reason
    assert {push["decision"] for push in langgraph} == {"offer", "abstain"}


def test_the_agent_loads_what_it_was_offered_first_and_follows_it(played, example_skills):
    with SkillCue(example_skills) as cue:
        for run in played["runs"]:
            for turn in run["turns"]:
                if not turn["push"]["skills"]:
                    assert turn["pulls"] == []
                    continue
                name = turn["push"]["skills"][0]
                (pull,) = turn["pulls"]
                assert (pull["tool"], pull["arguments"]) == ("skill_load", {"name": name})
                assert not pull["error"]
                assert pull["tokens"] == estimate_tokens(cue.tools().load(name).text)
                assert turn["reply"].startswith(f"I follow {name}, which begins with: ")


def test_thanks_and_general_knowledge_get_no_advice(played):
    for run in played["runs"]:
        silent = [turn["user"] for turn in run["turns"] if turn["push"]["decision"] == "abstain"]
        assert any("thank you so much" in text for text in silent)
        assert any("capital of Australia" in text for text in silent)


def test_totals_are_sums_over_the_turns(played):
    for run in played["runs"]:
        totals, turns = run["totals"], run["turns"]
        assert totals["pushed"] == sum(turn["push"]["tokens"] for turn in turns) > 0
        pulls = [pull for turn in turns for pull in turn["pulls"]]
        assert totals["pulled"] == sum(pull["tokens"] for pull in pulls) > 0
        assert totals["spoke"] == sum(turn["push"]["tokens"] > 0 for turn in turns)
        times = [turn["push"]["elapsed_ms"] for turn in turns]
        assert totals["retrieval_ms"] == statistics.median(times) > 0


def test_the_whole_library_is_what_doctor_counts(played, cli, example_skills):
    tokens = cli("doctor", "--skills", example_skills, "--json").json["tokens"]
    assert played["load_everything_tokens"] == tokens["everything"]


def test_the_screen_tells_each_turn_and_says_who_plays(process, example_skills):
    result = process("demo", env={"COLUMNS": "200"}, cwd=ROOT)
    assert (result.code, result.err) == (0, "")
    text = flat(result.out)
    assert SCRIPTED_NOTICE in text
    assert MADE_UP_NOTICE not in text
    for heading in ("LangGraph StateGraph", "LlamaIndex FunctionAgent"):
        assert result.out.count(heading) == 1
    for number, user in enumerate(user_texts(), 1):
        assert result.out.count(f"turn {number}\n") == 2
        assert text.count(flat(user)[:150]) == 2
    assert result.out.count("why: ") == 2 * len(user_texts())
    assert re.search(r'skill_load\(name="invoice-reconciliation"\) → [\d,]+ tokens', text)
    assert len(re.findall(r"together [\d,]+ tokens, [\d.]+% of the library", text)) == 2
    assert len(re.findall(r"retrieval [\d.]+ ms a turn \(median\)", text)) == 2


def test_one_framework(cli, example_skills):
    (run,) = cli("demo", "--framework", "langgraph", "--skills", example_skills, "--json").json[
        "runs"
    ]
    assert run["framework"] == "langgraph"


def test_another_library_gets_a_conversation_made_from_it_and_says_so(cli, tmp_path):
    library = tmp_path / "mine"
    topics = ("sails of small boats", "beehives in winter", "harpsichord tuning", "clay roof tiles")
    for number, topic in enumerate(topics):
        text = f"Looks after {topic}. Use when someone asks for number {number}."
        write_skill(
            library, f"care-{number}", text, f"# {topic}\n\n## Look at the {topic}\n\nGo.\n"
        )
    options = ("demo", "--skills", library, "--framework", "langgraph")
    screen = cli(*options)
    assert screen.code == 0
    assert MADE_UP_NOTICE in flat(screen.out)
    document = cli(*options, "--json").json
    assert document["conversation"]["made_up"]
    turns = document["runs"][0]["turns"]
    offered = [turn["push"]["skills"][0] for turn in turns if turn["push"]["skills"]]
    assert len(offered) == len(set(offered)) == 3
    assert sum(turn["push"]["decision"] == "abstain" for turn in turns) == 2
    asked = next(turn for turn in turns if turn["push"]["skills"] == ["care-0"])
    assert "Looks after sails of small boats" in asked["user"]
    assert "Use when" not in asked["user"]
    assert "begins with: Look at the sails of small boats." in asked["reply"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_library_of_one_or_two_skills(cli, tmp_path, count):
    for number in range(count):
        write_skill(tmp_path, f"skill-{number}", f"Tunes harpsichord kind{number}.")
    result = cli("demo", "--skills", tmp_path, "--framework", "langgraph", "--json")
    assert result.code == 0
    assert len(result.json["runs"][0]["turns"]) == count + 2


def test_a_named_conversation_is_played_on_another_library(cli, skills_copy):
    file = ROOT / "examples" / "conversations" / "office-odds.json"
    options = ("--conversation", file, "--framework", "langgraph", "--json")
    document = cli("demo", "--skills", skills_copy, *options).json
    assert document["conversation"]["title"] == json.loads(file.read_text("utf-8"))["title"]
    assert not document["conversation"]["made_up"]


def test_the_example_library_named_by_its_path_gets_its_conversation(cli, monkeypatch):
    monkeypatch.chdir(ROOT)
    options = ("--framework", "langgraph", "--json")
    document = cli("demo", "--skills", "examples/../examples/skills", *options).json
    assert not document["conversation"]["made_up"]


def test_without_the_examples_the_error_names_the_option(process, tmp_path):
    # A copy of the package far from any examples, as an installed wheel is.
    for root, package in (
        ("plugin", "skillcue"),
        ("adapters", "skillcue_adapters"),
        ("hooks", "skillcue_hooks"),
    ):
        shutil.copytree(ROOT / root / package, tmp_path / "lib" / package)
    result = process("demo", env={"PYTHONPATH": str(tmp_path / "lib")}, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "examples/skills" in result.err
    assert "--skills path/to/skills" in result.err


def test_a_mode_is_used_and_shown(tmp_path, example_skills, process):
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillcue]\nother = other_plugin\n")
    (tmp_path / "other_plugin.py").write_text(
        "from skillcue_hooks import hookimpl\n"
        "@hookimpl\n"
        "def skillcue_register_retrievers(register):\n"
        "    register('other', 'skillcue_adapters.bm25:build')\n"
    )
    env = {"PYTHONPATH": str(tmp_path), "SKILLCUE_LOAD_PLUGINS": "other"}
    document = process(
        *("demo", "--mode", "other", "--framework", "llamaindex"),
        *("--skills", example_skills, "--json"),
        env=env,
    ).json
    assert [run["framework"] for run in document["runs"]] == ["llamaindex"]
    modes = {turn["push"]["mode"] for run in document["runs"] for turn in run["turns"]}
    assert modes == {"other"}


@pytest.mark.skipif(
    importlib.util.find_spec("langchain_anthropic") is None,
    reason="langchain-anthropic is not installed: no real provider client to run the demo with",
)
def test_a_real_model_plays_in_both_halves(process, example_skills):
    with anthropic_server() as server:
        env = {
            "SKILLCUE_DEMO_MODEL": "anthropic:claude-test",
            "ANTHROPIC_API_KEY": "test",
            "ANTHROPIC_BASE_URL": server.url,
        }
        result = process("demo", "--skills", example_skills, "--json", env=env)
    assert result.code == 0, result.err
    document = result.json
    assert document["model"] == "anthropic:claude-test"
    for run in document["runs"]:
        for turn in run["turns"]:
            offered = turn["push"]["skills"]
            assert [pull["arguments"]["name"] for pull in turn["pulls"]] == offered[:1]
            assert turn["reply"] == (
                "I did what the skill says." if offered else "I need no skill."
            )
    streamed = {bool(request.get("stream")) for request in server.requests}
    assert streamed == {True, False}  # LlamaIndex streams, the graph does not
    for request in server.requests:
        assert {tool["name"] for tool in request["tools"]} == {
            "skill_lookup",
            "skill_load",
            "skill_list",
        }
    results = [
        part
        for request in server.requests
        for part in request["messages"][-1]["content"]
        if isinstance(part, dict) and part["type"] == "tool_result"
    ]
    pulls = [pull for run in document["runs"] for turn in run["turns"] for pull in turn["pulls"]]
    assert len(results) == len(pulls) > 0


def test_a_model_that_cannot_be_used_is_an_error_with_a_cure(cli, monkeypatch, example_skills):
    monkeypatch.setenv("SKILLCUE_DEMO_MODEL", "nobody:nothing")
    result = cli("demo", "--skills", example_skills)
    assert result.code == 2
    assert "SKILLCUE_DEMO_MODEL=nobody:nothing cannot be used" in result.err
    assert "unset the variable" in result.err


@pytest.mark.skipif(
    importlib.util.find_spec("langchain_anthropic") is None,
    reason="langchain-anthropic is not installed: no real provider client that can fail",
)
@pytest.mark.parametrize("framework", ["langgraph", "llamaindex"])
def test_a_model_that_fails_on_the_way_is_an_error_with_a_cure(process, example_skills, framework):
    env = {
        "SKILLCUE_DEMO_MODEL": "anthropic:claude-test",
        "ANTHROPIC_API_KEY": "test",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",  # the discard port: nobody listens
    }
    result = process("demo", "--skills", example_skills, "--framework", framework, env=env)
    assert result.code == 2
    assert "The model anthropic:claude-test failed in turn 1" in result.err
    assert "unset it for the scripted model" in result.err


@pytest.mark.parametrize(
    ("missing", "left"), [("llama_index", "langgraph"), ("langgraph", "llamaindex")]
)
def test_a_framework_that_is_not_installed(process, example_skills, missing, left):
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "missing = sys.argv.pop(1)\n"
        "importlib.util.find_spec = lambda name, *rest: (\n"
        "    None if name.partition('.')[0] == missing else find(name, *rest))\n"
        "from skillcue.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    options = ("--skills", example_skills, "--json")
    both = process(missing, "demo", *options, code=code)
    assert both.code == 0, both.err
    assert [run["framework"] for run in both.json["runs"]] == [left]
    assert "One framework is left out" in both.err
    assert 'pip install "skillcue[' in both.err
    asked = {"llama_index": "llamaindex"}.get(missing, missing)
    alone = process(missing, "demo", "--framework", asked, *options, code=code)
    assert (alone.code, alone.out) == (2, "")
    assert 'pip install "skillcue[' in alone.err
