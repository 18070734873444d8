"""The example adapter is an installed third-party package: found by its entry point alone."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ADAPTER = ROOT / "examples" / "custom_adapter"

RUN = """
import asyncio, json, sys
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from llama_index.core.agent.workflow import FunctionAgent
from skillcue import SkillCue, skill_mode
from skillcue.demo.bridge import LangChainLLM
from skillcue.langchain import SkillMiddleware
from skillcue.llamaindex import with_skills
from support.langchain_models import StrictChatModel

cue = SkillCue(sys.argv[1])
modes = []
from skillcue_hooks import hookimpl
class Observer:
    @hookimpl
    def skillcue_advised(self, advice): modes.append(advice.mode)
cue.plugins.add(Observer())
agent = create_agent(StrictChatModel(), [], middleware=[SkillMiddleware(cue)])
def say(n): return {"messages": [HumanMessage(f"kubernets pod debuging {n}")]}
agent.invoke(say(0))
agent.invoke(say(1), context={"skill_mode": "trigram"})
agent.invoke(say(2), {"configurable": {"skill_mode": "trigram"}})
with skill_mode("trigram"):
    agent.invoke(say(3))
async def llama():
    li_agent = with_skills(FunctionAgent(llm=LangChainLLM(StrictChatModel())), cue)
    await li_agent.run(user_msg="kubernets pod debuging 4", skill_mode="trigram")
asyncio.run(llama())
print(json.dumps(modes))
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    return {**kept, "PYTHONPATH": str(ROOT / "tests"), **more}


@pytest.fixture(autouse=True)
def installed():
    names = {e.name for e in importlib.metadata.entry_points(group="skillcue")}
    assert "trigram" in names, "install it: pip install -e examples/custom_adapter"


def test_every_way_to_toggle_the_mode_in_both_frameworks(example_skills):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, str(example_skills)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == ["skillsight", *["trigram"] * 4]


def test_the_command_line_finds_it(example_skills):
    command = [sys.executable, "-m", "skillcue", "search", "kubernets pod debuging"]
    command += ["--mode", "trigram", "--skills", str(example_skills), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert "kubernetes-pod-debugging" in done.stdout


@pytest.mark.parametrize(
    "variables", [{"SKILLCUE_LOAD_PLUGINS": ""}, {"SKILLCUE_BLOCK_PLUGINS": "trigram"}]
)
def test_it_can_be_kept_out(example_skills, variables):
    code = f"from skillcue import SkillCue; print(SkillCue({str(example_skills)!r}).modes)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment(**variables),
    )
    assert "trigram" not in done.stdout
    assert "bm25" in done.stdout


def test_its_own_tests_pass():
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(ADAPTER)]
    done = subprocess.run(
        [*command, "-W", "ignore", str(ADAPTER / "tests")],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
