"""The example agents, run as a reader runs them."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skillcue import SkillCue
from skillcue.demo.models import SCRIPTED_NOTICE

ROOT = Path(__file__).parents[2]
needs_deepagents = pytest.mark.skipif(
    importlib.util.find_spec("deepagents") is None,
    reason="DEEPAGENTS IS NOT INSTALLED: examples/deepagents_agent.py is not tested",
)
EXAMPLES = (
    "langgraph_agent",
    "llamaindex_agent",
    pytest.param("deepagents_agent", marks=needs_deepagents),
)


def run(example: str, *arguments: str) -> list[str]:
    """The lines an example prints."""
    done = subprocess.run(
        [sys.executable, f"examples/{example}.py", *arguments],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("SKILLCUE_")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_is_advised_loads_the_skill_and_follows_it(example):
    notice, advice, call, answer = run(example)
    assert notice == SCRIPTED_NOTICE
    assert advice.startswith("advice: offer ['pdf-form-filling'")
    assert call == "call:   skill_load {'name': 'pdf-form-filling'}"
    assert answer == (
        "answer: I follow pdf-form-filling, which begins with: 1. Find out what kind of form it is."
    )


def test_it_stays_silent_where_nothing_fits():
    _, advice, answer = run("langgraph_agent", "Thanks!", "Have", "a", "nice", "evening")
    assert advice.startswith("advice: abstain [] (")
    assert answer == "answer: There is nothing to load; a real model would answer here."


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_searches_when_it_is_asked_to(example, example_skills):
    question = "Which skills do you have?"
    lines = run(example, question)
    assert f"call:   skill_lookup {{'query': '{question}'}}" in lines
    with SkillCue(example_skills) as cue:
        hits = cue.lookup(question, context=question).hits
    for hit in hits:
        assert hit.skill.name in lines[-1]


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_is_short_and_says_how_to_run_it(example):
    text = (ROOT / "examples" / f"{example}.py").read_text("utf-8")
    assert 30 <= len(text.splitlines()) <= 60
    assert re.match(rf'"""[^\n]+ Run: python examples/{example}\.py \["your question"\]"""', text)
