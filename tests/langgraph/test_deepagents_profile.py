"""deepagents finds skillcue by its entry point, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents")

ROOT = Path(__file__).resolve().parents[2]
GROUP = "deepagents.harness_profiles"
PDF = "I have to fill in a PDF form for my visa application"

PROGRAM = """
import json, logging, sys
logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
sys.path.insert(0, {tests!r})
from deepagents import create_deep_agent
from support.langchain_models import StrictChatModel, call

{setup}
model = StrictChatModel(script={script})
agent = create_deep_agent(model, {options})
out = agent.invoke({{"messages": [{{"role": "user", "content": {question!r}}}]}})
print(json.dumps({{
    "tools": sorted(name for name in model.tool_names if name.startswith("skill_")),
    "advised": [any("<skill_advice>" in str(m.content) for m in r) for r in model.requests],
    "stored": "<skill_advice>" in str(out["messages"]),
    "read": [m.text.splitlines()[0] for m in out["messages"] if m.type == "tool"],
    "answer": out["messages"][-1].text,
    "heavy": sorted({{"numpy", "skillcue.facade", "skillcue.langchain_middleware"}} & set(sys.modules)),
}}))
"""
TASK = 'call("task", description="Fill in the visa PDF form", subagent_type="general-purpose")'
KEEPS = f'[{TASK}, "the sub-agent is done", "done"]'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer would write for this distribution, and no other skillcue."""
    folder = tmp_path_factory.mktemp("site")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    info = folder / "skillcue-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: skillcue\nVersion: 0.1.0\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    return folder


@pytest.fixture
def run(site):
    def run(program: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SKILL"))}
        path = [str(site), *(str(ROOT / room) for room in ("plugin", "adapters", "hooks"))]
        return subprocess.run(
            [sys.executable, "-c", program],
            env={**inherited, "PYTHONPATH": os.pathsep.join(path), **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )

    return run


@pytest.fixture
def agent(run):
    def agent(
        env: dict[str, str], *, script: str = KEEPS, options: str = "", setup: str = ""
    ) -> tuple[dict[str, Any], str]:
        program = PROGRAM.format(
            tests=str(ROOT / "tests"), script=script, options=options, setup=setup, question=PDF
        )
        done = run(program, {"SKILLCUE_DEEPAGENTS_PROVIDERS": "strictchatmodel", **env})
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return agent


def test_the_agent_and_its_sub_agent_get_advice_and_tools(agent, example_skills):
    told, err = agent({"SKILLCUE_SKILLS": str(example_skills)})
    assert told["tools"] == ["skill_list", "skill_load", "skill_lookup"]
    assert told["advised"] == [True, True, True]  # the agent, its sub-agent, the agent again
    assert (told["stored"], told["answer"], err) == (False, "done", "")


def test_a_sub_agent_loads_a_skill(agent, example_skills):
    script = f'[{TASK}, call("skill_load", name="pdf-form-filling"), "sub done", "done"]'
    told, _ = agent({"SKILLCUE_SKILLS": str(example_skills)}, script=script)
    assert told["advised"] == [True] * 4


@pytest.mark.parametrize("value", [None, os.pathsep])
def test_without_the_variable_nothing_happens(agent, value):
    told, err = agent({} if value is None else {"SKILLCUE_SKILLS": value})
    assert (told["tools"], told["advised"], told["heavy"]) == ([], [False] * 3, [])
    assert err == ""


def test_a_library_that_is_not_there_is_logged(agent, tmp_path):
    told, err = agent({"SKILLCUE_SKILLS": str(tmp_path / "nowhere")})
    assert (told["tools"], told["answer"]) == ([], "done")
    assert err.count("WARNING skillcue.deepagents deepagents gets no skills") == 2  # two agents
    assert "nowhere" in err


def test_a_library_that_breaks_while_agents_run(agent, tmp_path):
    folder = tmp_path / "skills"
    folder.mkdir()
    setup = (
        "import skillcue.facade\n"
        "def broken(self): raise OSError('the disk is gone')\n"
        "skillcue.facade.SkillCue.snapshot = broken\n"
    )
    script = '[call("skill_load", name="x"), "done"]'
    told, err = agent({"SKILLCUE_SKILLS": str(folder)}, script=script, setup=setup)
    assert (told["answer"], told["advised"]) == ("done", [False, False])
    assert "push failed" in err


def test_two_folders(agent, tmp_path, example_skills):
    from conftest import write_skill

    write_skill(tmp_path, "knit-socks", "Knit a pair of socks from wool")
    both = os.pathsep.join([str(tmp_path), str(example_skills)])
    names = ("knit-socks", "pdf-form-filling")
    script = '[call("skill_load", name="knit-socks"), call("skill_load", name=PDF_NAME), "done"]'
    told, _ = agent({"SKILLCUE_SKILLS": both}, script=script, setup="PDF_NAME = 'pdf-form-filling'")
    assert [line.split("@")[0] for line in told["read"]] == [f"[skill {name}" for name in names]


def test_the_middleware_of_the_author_goes_first(agent, example_skills, tmp_path):
    (tmp_path / "empty").mkdir()
    setup = (
        "from skillcue import SkillCue\nfrom skillcue.langchain import SkillMiddleware\n"
        f"own = SkillMiddleware(SkillCue({str(example_skills)!r}))\n"
    )
    env = {"SKILLCUE_SKILLS": str(tmp_path / "empty")}
    told, err = agent(env, script='["done"]', options="middleware=[own]", setup=setup)
    assert (told["advised"], err) == ([True], "")


def test_beside_the_middleware_of_the_author_under_another_name_it_stands_aside(
    agent, example_skills, tmp_path
):
    (tmp_path / "empty").mkdir()
    setup = (
        "from skillcue import SkillCue\nfrom skillcue.langchain import SkillMiddleware\n"
        f"own = SkillMiddleware(SkillCue({str(example_skills)!r}), name='SkillsMiddleware')\n"
        "from deepagents.backends import FilesystemBackend\n"
        f"backend = FilesystemBackend(root_dir={str(example_skills)!r}, virtual_mode=True)\n"
    )
    options = "middleware=[own], skills=['/'], backend=backend"
    script = '[call("skill_load", name="pdf-form-filling"), "done"]'
    env = {"SKILLCUE_SKILLS": str(tmp_path / "empty")}
    told, err = agent(env, script=script, options=options, setup=setup)
    assert (told["advised"], told["answer"]) == ([True, True], "done")
    assert "goes on without skills" in err


def test_a_tool_of_the_author_under_our_name_does_not_stop_the_agent(agent, example_skills):
    setup = "def skill_load(name: str) -> str:\n    'Load.'\n    return 'own ' + name\n"
    script = '[call("skill_load", name="x"), "done"]'
    told, err = agent(
        {"SKILLCUE_SKILLS": str(example_skills)},
        script=script,
        options="tools=[skill_load]",
        setup=setup,
    )
    assert (told["answer"], told["advised"]) == ("done", [False, False])
    assert "another tool named 'skill_load'" in err


def test_all_providers_of_langchain_have_a_profile():
    from langchain.chat_models import base

    from skillcue.deepagents_profile import PROVIDERS

    known = getattr(base, "_BUILTIN_PROVIDERS", None) or getattr(base, "_SUPPORTED_PROVIDERS", ())
    assert set(known) <= set(PROVIDERS)
    assert list(PROVIDERS) == sorted(PROVIDERS)


MEASURED = """
import json, sys
import deepagents
before = set(sys.modules)
from deepagents.profiles._builtin_profiles import _ensure_builtin_profiles_loaded
from deepagents.profiles.harness.harness_profiles import _HARNESS_PROFILES, _get_harness_profile
_ensure_builtin_profiles_loaded()
new = {name for name in set(sys.modules) - before if name.partition(".")[0].startswith("skillcue")}
found = _get_harness_profile("openai:some-model")
print(json.dumps([sorted(new), bool(found and found.extra_middleware)]))
"""


@pytest.mark.parametrize("skills", [True, False])
def test_finding_us_loads_next_to_nothing(run, example_skills, skills):
    env = {"SKILLCUE_SKILLS": str(example_skills)} if skills else {}
    loaded, profiled = json.loads(run(MEASURED, env).stdout)
    assert loaded == ["skillcue", "skillcue.deepagents_profile", "skillcue.mode"]
    assert profiled is skills


def test_a_key_that_cannot_be_one_is_logged_and_the_others_count(agent, example_skills):
    told, err = agent(
        {
            "SKILLCUE_SKILLS": str(example_skills),
            "SKILLCUE_DEEPAGENTS_PROVIDERS": "a:, strictchatmodel",
        },
        script='["done"]',
    )
    assert told["advised"] == [True]
    assert "no skills for 'a:'" in err
