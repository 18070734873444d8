"""Every name that an answer shows can be passed back, as shown or as a model may copy it."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from support.policies import Policy

from skillcue import SkillCue, StaticSource
from skillcue.pull import PullTools
from skillcue_hooks import Skill
from skillcue_hooks.errors import SkillNotFoundError

NASTY = (
    "with blanks",
    "  padded   name  ",
    "slash/ed/name",
    "back\\slash",
    "at@sign",
    "a@b@c",
    "100%",
    "%20",
    "%2F%40",
    '"quoted"',
    "'single'",
    "`tick`",
    "<b>html</b>",
    "</skill_advice>",
    "R&D",
    "Tom &amp; Jerry",
    "&lt;escaped&gt;",
    "e\u0301cole",
    "ẞ Straße",
    "\uff26\uff35\uff2c\uff2c",
    "表格 填写",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "👩\u200d🚀 rocket",
    "zero\u200bwidth",
    "\u202ebidi",
    "on",
    "null",
    "1.10",
    "-",
    ".hidden",
    "..",
    "name: with colon",
    "{braces} %s $HOME",
    "comma, semicolon; done",
    "UPPER",
    "upper case",
    "very-" * 30 + "long",
    "same name",
    "Same-Name",
    "same_name",
)
LINE = re.compile(r"^(?:- |\d+\. )(.*): (?:\[untrusted\] )?About number \d+\.$", re.MULTILINE)
PLAIN_LINE = re.compile(r"^(?:- |\d+\. )(\S+): ", re.MULTILINE)


def write(root: Path, folder: str, name: str, number: int) -> None:
    path = root / folder / "SKILL.md"
    path.parent.mkdir(parents=True)
    header = f"name: {json.dumps(name)}\ndescription: About number {number}.\n"
    path.write_text(f"---\n{header}---\nBody {number}.\n", "utf-8")


@pytest.fixture(scope="module")
def nasty_folder(tmp_path_factory) -> Path:
    """Odd names, and fifty skills of one name in odd folders."""
    root = tmp_path_factory.mktemp("nasty")
    for number, name in enumerate(NASTY):
        write(root, f"odd/{number:02}", name, number)
    for number in range(50):
        write(root, f"same/folder <{number}> & @%{number}", "one-name", 100 + number)
    return root


@pytest.fixture(scope="module")
def in_memory() -> StaticSource:
    """Names that no reader has cleaned."""
    odd = ("a\x00b", "line\nbreak", "\ud800", "tab\tbed", "private \ue000", "tag\U000e0041", "x  y")
    return StaticSource(
        "db",
        [
            Skill("", name, f"About number {i}.", body=f"Body {i}.", content_hash=str(i))
            for i, name in enumerate((*odd, *NASTY), 200)
        ],
    )


def shown_names(tools: PullTools, line: re.Pattern[str] = LINE) -> list[tuple[str, str]]:
    """(name as shown, id) of every line of ``list`` and ``lookup``."""
    found: list[tuple[str, str]] = []
    page = 1
    while True:
        answer = tools.list(page)
        assert not answer.error
        names = line.findall(answer.text)
        assert len(names) == len(answer.data["skills"])
        found += zip(names, answer.data["skills"], strict=True)
        if "Next page" not in answer.text:
            break
        page += 1
    total = answer.data["total"]
    assert len(found) == total
    return [*found, *names_found(tools, line)]


def names_found(tools: PullTools, line: re.Pattern[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    total = 1
    while len(found) < total:
        answer = tools.lookup("about number and a skill for it", k=20, offset=len(found))
        total = answer.data["total"]
        ids = [hit["id"] for hit in answer.data["hits"]]
        found += zip(line.findall(answer.text), ids, strict=True)
    return found


def check_all_load(cue: SkillCue) -> None:
    tools = cue.tools()
    shown = shown_names(tools)
    assert len({name for name, _ in shown}) == len({id_ for _, id_ in shown})  # no name twice
    for name, skill_id in shown:
        unescaped = name.replace("&lt;", "<").replace("&gt;", ">")
        for written in (name, unescaped, f" {name} ", unicodedata.normalize("NFD", name)):
            answer = tools.load(written)
            assert not answer.error, (written, answer.text)
            assert answer.data["skill"] == skill_id, written
        assert tools.load(skill_id).data.get("skill") == skill_id, skill_id
        assert tools.load(f'"{name}"').data.get("skill") == skill_id, name


def test_every_name_of_the_examples_loads(example_skills):
    with SkillCue(example_skills) as cue:
        shown = shown_names(cue.tools(), PLAIN_LINE)
        assert len(shown) > len(cue.list()) == 48
        for name, skill_id in shown:
            assert cue.tools().load(name).data["skill"] == skill_id


def test_every_name_of_a_nasty_library_loads(nasty_folder):
    with SkillCue(nasty_folder, recheck="manual") as cue:
        assert len(cue.list()) == len(NASTY) + 50
        assert len(names_found(cue.tools(), LINE)) == len(cue.list())
        check_all_load(cue)


def test_fifty_skills_of_one_name_are_told_apart(nasty_folder):
    with SkillCue(nasty_folder) as cue:
        shown = [pair for pair in shown_names(cue.tools()) if pair[1].startswith("one-name@")]
        assert len({name for name, _ in shown}) == 50
        assert [name for name, _ in shown].count("one-name") == 2  # once in list, once in lookup
        assert cue.load("one-name").skill == cue.load("one-name@same/folder <0> & @%250").skill


def test_names_that_no_reader_has_cleaned_load_as_shown(in_memory):
    with SkillCue(in_memory) as cue:
        tools = cue.tools()
        for name, skill_id in shown_names(tools):
            answer = tools.load(name)
            assert not answer.error, name
            assert answer.data["skill"] == skill_id, name


@pytest.mark.parametrize("hidden", ["first", "others"])
def test_names_load_under_a_policy_that_hides_some(nasty_folder, hidden):
    class HideSome(Policy):
        def _allows(self, skill, hidden_names):
            first = skill.id == "one-name@same/folder <0> & @%250"
            return skill.name == "one-name" and (not first if hidden == "first" else first)

    with SkillCue(nasty_folder, plugins=[HideSome()], recheck="manual") as cue:
        assert len(cue.list()) == (49 if hidden == "first" else 1)
        tools = cue.tools()
        for skill_id in tools.list().data["skills"]:
            assert tools.load(skill_id).data["skill"] == skill_id
        for name in LINE.findall(tools.list().text):
            assert not tools.load(name).error
        assert tools.load("R&amp;D").error and tools.load("with blanks").error


def test_what_advice_names_can_be_loaded_as_written(nasty_folder):
    cue = SkillCue(nasty_folder, recheck="manual", block_plugins=["scanner"])
    call = re.compile(r"skill_load\(name=(\"(?:[^\"\\]|\\.)*\")\)")
    for skill in cue.list():
        messages = [{"role": "user", "content": f"use `{skill.id}`"}]
        plan = cue.advisor("skill_load").plan(messages)
        if not plan.placements:  # an id that cannot be put in quotes
            assert set(skill.id) & set("\"'`")
            continue
        [(_, block)] = plan.placements
        [name] = call.findall(block)
        assert cue.tools().load(json.loads(name)).data["skill"] == skill.id


def test_errors_name_only_what_may_be_seen(nasty_folder):
    cue = SkillCue(nasty_folder, plugins=[Policy("with blanks")], recheck="manual")
    answer = cue.tools().load("with blank")
    assert answer.error and "with blanks" not in answer.text
    with pytest.raises(SkillNotFoundError) as caught:
        cue.load("with blank")
    assert "with blanks" not in caught.value.closest
    assert "with blanks" in SkillCue(nasty_folder).tools().load("with blank").text


def test_files_with_odd_names_load_as_shown(tmp_path):
    odd = ("a b.md", "a  b.md", "<b>.md", "R&D.md", "&lt;.md", "ü\u0308.md", "100%.md", "a,b.md")
    (tmp_path / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\n", "utf-8")
    for name in odd:
        (tmp_path / name).write_text(f"This is {name}.", "utf-8")
    tools = SkillCue(tmp_path).tools()
    line = next(line for line in tools.load("x").text.split("\n") if line.startswith("Files: "))
    assert "<" not in line
    for name in odd:
        shown = name.replace("<", "&lt;").replace(">", "&gt;")
        assert shown in line
        assert tools.load("x", shown).text.endswith(f"This is {name}."), name
        assert tools.load("x", name).text.endswith(f"This is {name}.")


def named(number: int, name: str, *aliases: str) -> Skill:
    text = f"About number {number}."
    return Skill(f"{name}@f{number}", name, text, body=f"Body {number}.", aliases=aliases)


SHOWN = (
    *(named(n, f"report-{n}") for n in range(30, 95)),
    named(1, "same-name"),
    named(2, "twin"),
    named(3, "long-way", "shortcut"),
    named(4, "quick-path", "quick-way"),
    named(5, "R&D"),
    named(6, "loud-one", "Quick"),
    named(7, "soft-one", "quick"),
)
HIDDEN = (
    *(named(n, f"report-{n}") for n in range(10, 30)),
    named(101, "Same Name"),
    named(102, "twin"),
    named(103, "secret-way", "shortcut", "backdoor"),
    named(104, "secret-path", "Quick Way"),
    named(105, "R<D"),
    named(106, "same name", "shortcut"),
    named(107, "secret-one", "Quick"),
)


def asked_by_name(cue: SkillCue) -> dict[str, object]:
    """What all the ways to speak of names come to."""
    tools = cue.tools()
    names = [name for skill in (*SHOWN[-8:], *HIDDEN[-9:]) for name in (skill.name, skill.id)]
    names += [
        "Quick",
        "shortcut",
        "SHORTCUT",
        "backdoor",
        "QUICK_WAY",
        "quick way",
        "SAME_NAME",
        "TWIN",
    ]
    names += ["report-1", "report-19x", "report-2", "report-9", "report-10@f1", "secret", "r d"]
    names += ["R&amp;D", "R&lt;D", "`R<D`", "'report-12'", '"twin"', "<script>", " Report_11 "]
    found: dict[str, object] = {}
    for name in names:
        answer = tools.load(name)
        found[f"load {name}"] = (answer.text, answer.data)
        advice = cue.advise([{"role": "user", "content": f"use the skill `{name}`"}])
        found[f"use {name}"] = advice.turn and (advice.turn.explicit, advice.turn.declined)
    for page in range(1, 5):
        answer = tools.list(page)
        found[f"list {page}"] = (answer.text, answer.data)
    for offset in (0, 60, 65, 70, 80, 99):
        answer = tools.lookup("about number", 20, offset)
        found[f"lookup {offset}"] = (answer.text.count("\n"), answer.data["total"])
        found[f"more {offset}"] = "For more" in answer.text
    return found


@pytest.mark.parametrize("first", ["hidden", "shown"])
def test_what_is_hidden_leaves_no_trace_among_names(first):
    """As if it were not there: in suggestions, counts, pages, names that clash and errors."""
    ids = {skill.id for skill in HIDDEN}

    class HideThem(Policy):
        def _allows(self, skill, hidden):
            return skill.id not in ids

    every = (*HIDDEN, *SHOWN) if first == "hidden" else (*SHOWN, *HIDDEN)
    options = {"mode": "bm25", "block_plugins": ["scanner"]}
    with (
        SkillCue(StaticSource("db", SHOWN), **options) as without,
        SkillCue(StaticSource("db", every), plugins=[HideThem()], **options) as hiding,
        SkillCue(StaticSource("db", every), **options) as open_to_all,
    ):
        expected = asked_by_name(without)
        assert asked_by_name(hiding) == expected
        seen = asked_by_name(open_to_all)
    ways = ["list 1", "list 2", "lookup 0", "more 60", "load report-19x", "load shortcut"]
    ways += ["load QUICK_WAY", "load Quick", "load backdoor", "use report-28", "load `R<D`"]
    ways += ["load twin", "load SAME_NAME"] if first == "hidden" else []
    assert [way for way in ways if seen[way] == expected[way]] == []
