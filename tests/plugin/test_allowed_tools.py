"""Rules of `allowed-tools`: what is understood, and which calls they let through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage

from skillcue import SkillCue
from skillcue.active_skills import active_skills
from skillcue.allowed_tools import AllowedTools, ToolRule, read_rules

BASH = {"Bash(git:*)", "Bash(git add:*)", "Bash(ls -l)"}


@pytest.mark.parametrize(
    ("written", "rules"),
    [
        ("Read", ["Read"]),
        ("read_file", ["read_file"]),
        ("mcp__server__tool", ["mcp__server__tool"]),
        ("Bash(*)", ["Bash"]),
        ("Bash( *)", ["Bash"]),
        ("Bash(git:*)", ["Bash(git:*)"]),
        ("Bash(git *)", ["Bash(git:*)"]),
        ("Bash(git add:*)", ["Bash(git add:*)"]),
        ("Bash( npm test )", ["Bash(npm test)"]),
        ("Bash(ls, cat)", ["Bash(ls)", "Bash(cat)"]),
        ("Bash(git add:*, git log:*)", ["Bash(git add:*)", "Bash(git log:*)"]),
    ],
)
def test_rules_that_are_understood(written, rules):
    found, unknown = read_rules([written])
    assert ([str(rule) for rule in found], unknown) == (rules, ())


@pytest.mark.parametrize(
    "written",
    [
        "*", "mcp__server__*", "Bash()", "Bash( )", "Bash(", "Bash)", "Bash(git:*)x", "Bash(a(b))",
        "Edit(src/**)", "Read(./*.md)", "Bash(*git)", "Bash(git:*:*)", "Bash(:*)",
        "Bash(g*t:*)", "Bash(git[ab])", "Bash({a,b})", 'Bash(git commit -m "a, rm")', "Ba sh",
        "\u0412ash", "Bash(ls, *.md)", "", "1tool", "Bash(git: *)", "Bash(git::*)",
    ],
)  # fmt: skip
def test_rules_that_are_not_understood_allow_nothing(written):
    assert read_rules([written]) == ((), (written,))
    allowed = AllowedTools([written])
    assert not any(allowed.offers(tool) for tool in ("Bash", "Edit", "Read", "*", written))
    assert not allowed.allows("Bash", {"command": "git"})


@pytest.mark.parametrize(
    "command",
    [
        "git",
        "git status",
        " git  log -n 3 ",
        "git\tlog",
        "git commit -m 'fix #1'",
        "ls -l",
        "ls -l ",
    ],
)
def test_commands_that_fit(command):
    assert AllowedTools(BASH).allows("Bash", {"command": command})
    assert AllowedTools(BASH).allows("Bash", {"cmd": command, "timeout": 3})
    assert AllowedTools(BASH).allows("Bash", {"commands": [command, "git"]})


@pytest.mark.parametrize(
    "command",
    [
        "", "gitk", "git-lfs", "GIT status", "sudo git", "X=1 git status", "ls", "ls -l x", "ls  -l",
        "git status; rm -rf /", "git status && rm x", "git log | sh", "git log > x", "git $(rm x)",
        "git `rm x`", "git status\nrm x", "git status\rrm x", "git < x", "git log & rm x",
        "git ${X}", "git \x00", "(git)", None, 3, ["git", "rm"], [], ["git", 3], {"git": 1},
    ],
)  # fmt: skip
def test_commands_that_do_not_fit(command):
    assert not AllowedTools(BASH).allows("Bash", {"command": command})


def test_a_call_without_one_command_fits_no_pattern():
    allowed = AllowedTools(BASH)
    assert not allowed.allows("Bash", {})
    assert not allowed.allows("Bash", {"command": "git", "cmd": "rm x"})
    assert not allowed.allows("Bash", {"script": "git"})
    assert not allowed.allows("bash", {"command": "git"})
    assert AllowedTools([*BASH, "Bash"]).allows("Bash", {"command": "rm x"})


def test_an_exact_command_may_hold_what_its_author_wrote():
    assert AllowedTools(["Bash(ls | wc -l)"]).allows("Bash", {"command": "ls | wc -l"})
    assert not AllowedTools(["Bash(ls | wc -l)"]).allows("Bash", {"command": "ls | wc -l; rm x"})


def test_tools_under_other_names():
    names = {"Bash": "execute", "Read": ["read_file", "ls"]}
    allowed = AllowedTools(["Bash(git:*)", "Read"], names)
    assert allowed.allows("execute", {"command": "git log"})
    assert not allowed.allows("execute", {"command": "rm x"})
    assert allowed.allows("ls", {}) and allowed.allows("Read", {})
    assert not allowed.offers("write_file")


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_prefix_never_lets_a_second_command_through(start, rest):
    """Whatever stands behind a prefix: no separator of a shell, and the prefix ends with its word."""
    rule = ToolRule("Bash", "prefix", "git")
    command = f"{start}git{rest}"
    if rule.covers(command):
        assert not set(command) & set(";&|<>$`()\n\r\x00")
        assert command.strip(" \t") == "git" or command.strip(" \t")[:4] in ("git ", "git\t")


@given(st.lists(st.text(max_size=30), max_size=4), st.text(max_size=20), st.text(max_size=20))
def test_any_text_as_rules_never_raises(written, tool, command):
    allowed = AllowedTools(written)
    if allowed.allows(tool, {"command": command}):
        assert allowed.offers(tool)


# exposed to the host


@pytest.fixture
def cue(tmp_path):
    for name, rules in (("git-work", "Bash(git:*), Read"), ("plain", "")):
        path = tmp_path / name / "SKILL.md"
        path.parent.mkdir()
        header = f"allowed-tools: {rules}\n" if rules else ""
        path.write_text(f"---\nname: {name}\ndescription: About it.\n{header}---\n\nDo.\n", "utf-8")
    return SkillCue(tmp_path, mode="bm25")


def test_a_loaded_skill_says_what_it_allows(cue):
    assert cue.load("git-work").skill.allowed_tools == ("Bash(git:*)", "Read")
    assert cue.tools().load("git-work").data["allowed_tools"] == ["Bash(git:*)", "Read"]
    assert cue.tools().load("plain").data["allowed_tools"] == []


# which skills are active


def loaded(cue, name, **more):
    return {"role": "tool", "name": "skill_load", "content": cue.tools().load(name).text, **more}


def ids(cue, messages, records=None):
    skills = active_skills(messages, records or {}, "skill_load", cue.snapshot().get)
    return [skill.id.partition("@")[0] for skill in skills]


def test_a_skill_is_active_in_the_turn_in_which_it_was_loaded(cue):
    ask, answer = {"role": "user", "content": "Go"}, {"role": "assistant", "content": "Well"}
    assert ids(cue, [ask]) == []
    assert ids(cue, [ask, answer, loaded(cue, "git-work")]) == ["git-work"]
    assert ids(cue, [ask, answer, loaded(cue, "git-work"), answer, ask]) == []
    both = [ask, answer, loaded(cue, "git-work"), loaded(cue, "plain"), loaded(cue, "git-work")]
    assert ids(cue, both) == ["git-work", "plain"]
    assert ids(cue, [loaded(cue, "git-work")]) == ["git-work"]  # the turn was trimmed away


def test_another_tool_makes_no_skill_active(cue):
    ask = {"role": "user", "content": "Go"}
    assert ids(cue, [ask, {**loaded(cue, "git-work"), "name": "fetch"}]) == []


def test_a_message_that_no_user_wrote_ends_no_turn(cue):
    ask = {"role": "user", "content": "Go"}
    summary = {**ask, "additional_kwargs": {"lc_source": "summarization"}}
    assert ids(cue, [ask, loaded(cue, "git-work"), summary]) == ["git-work"]


def test_a_skill_that_is_gone_stays_active_with_the_rules_of_its_load(cue, tmp_path):
    answer = cue.tools().load("git-work")
    ask = {"role": "user", "content": "Go"}
    bare = {"role": "tool", "name": "skill_load", "content": answer.text}
    told = ToolMessage(answer.text, name="skill_load", tool_call_id="1", artifact=answer.data)
    (tmp_path / "git-work" / "SKILL.md").unlink()
    cue.refresh()

    def active(message):
        found = active_skills([ask, message], {}, "skill_load", cue.snapshot().get)
        return [(skill.id, skill.rules) for skill in found]

    assert active(told) == [("git-work@git-work", ("Bash(git:*)", "Read"))]
    assert active(bare) == [("git-work@git-work", None)]
