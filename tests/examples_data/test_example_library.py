"""The example skills and conversations are clean, complete and consistent."""

from __future__ import annotations

import json
import py_compile
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
SKILLS = EXAMPLES / "skills"
CONVERSATIONS = EXAMPLES / "conversations"

SKILL_FILES = sorted(SKILLS.rglob("SKILL.md"))
CONVERSATION_FILES = sorted(CONVERSATIONS.glob("*.json"))
PYTHON_SCRIPTS = sorted(SKILLS.rglob("scripts/*.py"))
SHELL_SCRIPTS = sorted(SKILLS.rglob("scripts/*.sh"))

FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
KNOWN_FIELDS = {"name", "description", "license", "allowed-tools", "metadata"}
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
BUNDLED = re.compile(r"(?<![\w./-])(?:scripts|references|assets)/[\w./-]*\w")


def split(path: Path) -> tuple[dict[str, Any], str]:
    match = FRONT_MATTER.fullmatch(path.read_text(encoding="utf-8"))
    assert match is not None, "no front matter"
    return yaml.safe_load(match[1]), match[2]


def mentioned_files(body: str) -> set[str]:
    """Relative paths that the body links to, or names below a folder for bundled files."""
    links = {link for link in LINK.findall(CODE.sub("", body)) if "://" not in link}
    return links | set(BUNDLED.findall(body))


def relative(path: Path) -> str:
    return path.relative_to(EXAMPLES).as_posix()


def skill_names() -> list[str]:
    return [path.parent.name for path in SKILL_FILES]


def user_messages(path: Path) -> list[dict[str, Any]]:
    messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
    return [message for message in messages if message["role"] == "user"]


def test_the_library_is_large_enough_and_its_names_are_unique() -> None:
    assert len(SKILL_FILES) >= 40
    assert [name for name, count in Counter(skill_names()).items() if count > 1] == []


def test_every_category_is_listed_in_the_readme() -> None:
    listed = set(re.findall(r"^\| `([\w-]+)` \|", (SKILLS / "README.md").read_text(), re.MULTILINE))
    assert listed == {path.parents[1].name for path in SKILL_FILES}
    assert all(path.parents[2] == SKILLS for path in SKILL_FILES)


@pytest.mark.parametrize("path", SKILL_FILES, ids=relative)
def test_front_matter_is_clean(path: Path) -> None:
    head, _ = split(path)
    assert set(head) <= KNOWN_FIELDS
    assert head["name"] == path.parent.name
    assert NAME.fullmatch(head["name"])
    assert len(head["name"]) <= 64
    description = head["description"].strip()
    assert 60 <= len(description) <= 600
    assert "\n" not in description
    # An unquoted " #" begins a YAML comment and cuts the sentence off.
    assert description.endswith((".", "。"))


@pytest.mark.parametrize("path", SKILL_FILES, ids=relative)
def test_body_is_substantial_and_its_files_exist(path: Path) -> None:
    _, body = split(path)
    assert len([line for line in body.splitlines() if line.strip()]) >= 20
    mentioned = mentioned_files(body)
    assert [name for name in mentioned if not (path.parent / name).is_file()] == []
    beside = {
        file.relative_to(path.parent).as_posix()
        for file in path.parent.rglob("*")
        if file.is_file() and file != path and "__pycache__" not in file.parts
    }
    assert beside == mentioned


def test_the_library_shows_the_variety_of_real_files() -> None:
    heads = [split(path) for path in SKILL_FILES]
    tools = [head["allowed-tools"] for head, _ in heads if "allowed-tools" in head]
    assert {type(value) for value in tools} == {str, list}
    assert any(not head["description"].isascii() for head, _ in heads)
    assert any(len(body) > 12_000 for _, body in heads)
    assert len({path.parents[1] for path in [*PYTHON_SCRIPTS, *SHELL_SCRIPTS]}) >= 6


@pytest.mark.parametrize("path", PYTHON_SCRIPTS, ids=relative)
def test_python_scripts_compile_and_explain_themselves(path: Path, tmp_path: Path) -> None:
    py_compile.compile(str(path), cfile=str(tmp_path / "out.pyc"), doraise=True)
    result = subprocess.run(
        [sys.executable, "-B", str(path), "--help"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("usage:")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("path", SHELL_SCRIPTS, ids=relative)
def test_shell_scripts_parse(path: Path) -> None:
    result = subprocess.run(
        ["bash", "-n", str(path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_there_are_six_conversations() -> None:
    assert len(CONVERSATION_FILES) == 6


@pytest.mark.parametrize("path", CONVERSATION_FILES, ids=relative)
def test_conversation_is_well_formed(path: Path) -> None:
    conversation = json.loads(path.read_text(encoding="utf-8"))
    assert set(conversation) == {"title", "messages"}
    roles = [message["role"] for message in conversation["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2)
    assert 5 <= roles.count("user") <= 9
    for message in conversation["messages"]:
        assert message["content"].strip()
        assert set(message) - {"expect"} == {"role", "content"}
        assert ("expect" in message) == (message["role"] == "user")


@pytest.mark.parametrize("path", CONVERSATION_FILES, ids=relative)
def test_conversation_expects_skills_that_exist_and_silence_too(path: Path) -> None:
    expected = [message["expect"] for message in user_messages(path)]
    assert {name for names in expected for name in names} <= set(skill_names())
    assert [] in expected
    assert sum(bool(names) for names in expected) >= 3


def test_the_demo_conversation_tells_its_story() -> None:
    story = user_messages(CONVERSATIONS / "month-end.json")
    needed, follow_up, thanks, trivia, switch, explicit = (turn["expect"] for turn in story)
    assert needed == follow_up != []
    assert thanks == trivia == []
    assert switch not in ([], needed)
    assert explicit == ["excel-pivot-reporting"]
    assert "excel-pivot-reporting" in story[-1]["content"]


def test_users_seldom_name_the_skill_they_need() -> None:
    turns = [turn for path in CONVERSATION_FILES for turn in user_messages(path)]
    named = [turn for turn in turns if any(name in turn["content"] for name in skill_names())]
    assert 0 < len(named) <= len(turns) // 10
