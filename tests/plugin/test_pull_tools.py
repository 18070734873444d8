"""The pull tools without a framework: whatever a model passes is answered with readable text."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage
from support.policies import Observer

from skillcue import SkillCue
from skillcue.loading import PAGE_CHARS, split_pages
from skillcue.pull import (
    ECHO_CHARS,
    ERROR_CHARS,
    LIST_PAGE,
    MAX_K,
    QUERY_CHARS,
    PullTools,
    ToolAnswer,
)


class Odd:
    """An argument that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("not printable")


ODD: list[Any] = [
    None,
    "",
    "   ",
    "3",
    " 2 ",
    3.7,
    -1,
    0,
    10**9,
    10**5000,
    math.nan,
    math.inf,
    -math.inf,
    True,
    [],
    [1],
    {},
    {"a": 1},
    b"",
    b"pdf",
    "x" * 1_000_000,
    "\x00",
    "\ud800",
    "<skill_advice>",
    object(),
    Odd(),
    (1, 2),
]


@pytest.fixture(scope="module")
def tools(example_skills):
    with SkillCue(example_skills) as cue:
        yield cue.tools()


def check(answer: ToolAnswer) -> None:
    assert isinstance(answer, ToolAnswer)
    assert answer.text.strip()
    assert len(answer.text) < 2 * PAGE_CHARS
    assert answer.error == answer.text.startswith("Error: ")
    answer.text.encode("utf-8")  # no lone surrogates


# any value for any argument


@pytest.mark.parametrize("value", ODD, ids=lambda v: type(v).__name__)
def test_any_value_for_any_argument_is_answered(tools, value):
    for answer in (
        tools.lookup(value),
        tools.lookup("fill in a pdf form", k=value),
        tools.lookup("fill in a pdf form", offset=value),
        tools.load(value),
        tools.load("git-bisect", file=value),
        tools.load("git-bisect", page=value),
        tools.list(value),
    ):
        check(answer)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=20),
    st.text(st.characters(exclude_categories=()), max_size=50),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(one=ANYTHING, two=ANYTHING, three=ANYTHING)
def test_any_values_together_are_answered(tools, one, two, three):
    check(tools.lookup(one, two, three))
    check(tools.load(one, two, three))
    check(tools.load("git-bisect", two, three))
    check(tools.list(one))


@pytest.mark.parametrize("messages", [None, [], [None, 3, "x"], "text", [{"role": "user"}], [{}]])
def test_any_conversation_is_taken(tools, messages):
    check(tools.lookup("merge pdf files", messages=messages))
    check(tools.load("git-bisect", messages=messages))


@pytest.mark.parametrize("mode", ["bm52", "", 3, ["bm25"]])
def test_any_mode_is_answered(tools, mode):
    answer = tools.lookup("pdf", mode=mode)
    check(answer)
    assert answer.error == bool(mode)
    assert not mode or "Available modes: bm25" in answer.text


def test_a_failing_library_is_an_answer_and_is_logged(tools, caplog):
    class Broken:
        def __getattr__(self, name):
            raise OSError("disk is gone")

    broken = PullTools(Broken())  # type: ignore[arg-type]
    for answer in (broken.lookup("x"), broken.load("x"), broken.list()):
        check(answer)
        assert answer.error
        assert "cannot answer now (OSError)" in answer.text
        assert "disk is gone" not in answer.text
    assert caplog.text.count("disk is gone") >= 3


# numbers


@pytest.mark.parametrize(
    ("k", "hits"), [(None, 5), ("", 5), ("3", 3), (2.9, 2), (True, 1), ("2.0", 2)]
)
def test_numbers_are_understood(tools, k, hits):
    answer = tools.lookup("fill in the form of a report", k=k)
    assert len(answer.data["hits"]) == hits


@pytest.mark.parametrize("k", [0, -1, "many", math.nan, math.inf, [3]])
def test_numbers_that_mean_nothing_are_errors_with_a_cure(tools, k):
    answer = tools.lookup("pdf", k=k)
    assert answer.error
    assert "`k`" in answer.text and "Pass a whole number from 1." in answer.text


def test_a_limit_that_is_hit_is_told(tools):
    answer = tools.lookup("the form of a report", k=1_000)
    assert len(answer.data["hits"]) == MAX_K
    assert f"k is limited to {MAX_K}" in answer.text
    long = tools.lookup("pdf form " * 1_000)
    assert f"only the first {QUERY_CHARS} characters" in long.text
    assert long.data["hits"] == tools.lookup(("pdf form " * 1_000)[:QUERY_CHARS]).data["hits"]


def test_arguments_are_not_echoed_at_length(tools):
    word = "zzzz" * 100_000
    assert len(tools.lookup(word, mode="bm25").text) < ECHO_CHARS + 400
    for answer in (tools.load(word), tools.load("git-bisect", word), tools.load("x@" + word)):
        assert len(answer.text) <= ERROR_CHARS + len("Error: ")


# lookup


def test_more_of_a_search(tools):
    first = tools.lookup("write a report", k=2)
    total = first.data["total"]
    assert total > 4
    assert f"{total} skills, best first" in first.text
    assert "call skill_lookup with offset=2" in first.text
    second = tools.lookup("write a report", k=2, offset=2)
    assert second.text.split("\n")[1].startswith("3. ")
    both = tools.lookup("write a report", k=4)
    assert both.data["hits"] == [*first.data["hits"], *second.data["hits"]]
    last = tools.lookup("write a report", k=MAX_K, offset=total - 1)
    assert len(last.data["hits"]) == 1 and "offset=" not in last.text
    beyond = tools.lookup("write a report", offset=total)
    assert not beyond.error and "no further skill matches" in beyond.text


def test_no_match_says_what_to_do(tools):
    answer = tools.lookup("qwertyuiop", mode="bm25")
    assert not answer.error
    assert "no skill in the library matches 'qwertyuiop'" in answer.text
    assert answer.data["hits"] == []


def test_what_is_only_near_in_meaning_is_said_to_be_so(tools):
    answer = tools.lookup("qwertyuiop")
    assert answer.text.startswith("no skill holds a word of the query; 48 skills by meaning, best")
    assert len(answer.data["hits"]) == 5
    assert tools.lookup("merge pdf").text.startswith("48 skills, best first:")


def test_the_conversation_is_a_second_view_of_a_search(example_skills):
    observer = Observer()
    with SkillCue(example_skills, plugins=[observer]) as cue:
        for said in ("my user text", "my user text\n\n<skill_advice>\nx\n</skill_advice>"):
            cue.tools().lookup("report", messages=[HumanMessage("old"), HumanMessage(said)])
        made = HumanMessage("summary", additional_kwargs={"lc_source": "summarization"})
        cue.tools().lookup("report", messages=[HumanMessage("x" * 9_000), made])
    contexts = [query.context for query, _ in observer.looked_up]
    assert contexts[:2] == ["my user text", "my user text"]
    assert set(contexts[2]) == {"x"} and len(contexts[2]) <= 1_200


def test_a_prefix_names_the_tools_in_every_hint(example_skills):
    with SkillCue(example_skills) as cue:
        tools = cue.tools("my_")
        assert tools.load_name == "my_skill_load"
        assert "my_skill_lookup with offset=1" in tools.lookup("write a report", k=1).text
        assert "Read one with my_skill_load." in tools.lookup("write a report").text


# list


def test_the_list_is_paged_and_complete(tmp_path):
    for number in range(LIST_PAGE + 1):
        folder = tmp_path / f"skill-{number:02}"
        folder.mkdir()
        text = f"---\nname: skill-{number:02}\ndescription: Number {number}.\n---\n"
        (folder / "SKILL.md").write_text(text, "utf-8")
    tools = SkillCue(tmp_path).tools()
    first, second = tools.list(), tools.list(2)
    assert first.text.startswith("51 skills, page 1 of 2:\n- skill-00: Number 0.")
    assert "Next page: skill_list with page=2." in first.text
    assert second.text == "51 skills, page 2 of 2:\n- skill-50: Number 50."
    assert len([*first.data["skills"], *second.data["skills"]]) == 51
    assert tools.list(3).text == tools.list("99").text == second.text


def test_an_empty_library_is_an_answer(tmp_path):
    tools = SkillCue(tmp_path).tools()
    assert tools.list().text == "The library holds no skill."
    assert not tools.list().error
    assert "no skill in the library matches" in tools.lookup("x").text
    assert tools.load("x").error


# load: pages


def body_of(characters: int) -> str:
    lines = []
    size = number = 0
    while size < characters:
        line = f"{number}: " + "wörd " * (number % 37) + "\n" * (1 + number % 3)
        lines.append(line)
        size += len(line)
        number += 1
    return "".join(lines)


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> tuple[SkillCue, str]:
    folder = tmp_path_factory.mktemp("large") / "large"
    folder.mkdir()
    body = body_of(1_200_000)
    text = f"---\nname: large\ndescription: A large one.\n---\n{body}"
    (folder / "SKILL.md").write_text(text, "utf-8")
    (folder / "long.txt").write_text(body, "utf-8")
    (folder / "one-line.txt").write_text("x" * 100_000, "utf-8")
    return SkillCue(folder), body


def pages_of(answer: Any, name: str, file: str | None = None) -> list[str]:
    """The text of each page, taken out of what surrounds it."""
    pages, number, total = [], 1, 1
    while number <= total:
        found = answer(name, file, number)
        assert not found.error
        total = found.data["pages"]
        header, _, text = found.text.partition("\n\n")
        assert header.split("\n")[0].startswith("[skill large@. version ")
        if number < total:
            text, marker, rest = text.rpartition(f"\n[page {number} of {total}, ")
            assert marker and f"page={number + 1} for the next]" in rest
        pages.append(text)
        number += 1
    return pages


@pytest.mark.parametrize("file", [None, "long.txt"])
def test_pages_join_to_exactly_the_whole(large, file):
    cue, body = large
    pages = pages_of(cue.tools().load, "large", file)
    whole = cue.snapshot().source_of(cue.list()[0]).read_body(cue.list()[0])
    assert whole.strip() == body.strip() or file
    assert "".join(pages) == (body if file else whole)
    assert all(0 < len(page) <= PAGE_CHARS for page in pages)
    assert all(page.endswith("\n") for page in pages[:-1])
    for number in (1, 2, len(pages)):
        loaded = cue.load("large", file, number)
        assert loaded.text == pages[number - 1]
        assert (loaded.shown, loaded.total) == (len(loaded.text), len(body if file else whole))


def test_a_line_longer_than_a_page_is_split_too(large):
    cue, _ = large
    assert "".join(pages_of(cue.tools().load, "large", "one-line.txt")) == "x" * 100_000


@given(st.text(alphabet="ab\n", max_size=300), st.integers(1, 40))
def test_splitting_loses_nothing(text, limit):
    pages = split_pages(text, limit)
    assert "".join(pages) == text
    assert all(len(page) <= limit for page in pages)
    assert all(pages) or pages == [""]


@pytest.mark.parametrize("page", [0, -1, 99, 10**9])
def test_pages_that_do_not_exist_are_errors(large, page):
    cue, _ = large
    answer = cue.tools().load("large", None, page)
    assert answer.error and "Pass a " in answer.text
    with pytest.raises(LookupError, match="pages, not"):
        cue.load("large", page=page)


def test_the_first_page_tells_where_the_skill_lives(large):
    cue, _ = large
    first = cue.tools().load("large").text.split("\n")
    assert first[1] == "large: A large one."
    assert first[2].startswith(f"Base directory: {cue.list()[0].path.parent} ")
    assert first[3].startswith("Files: long.txt, one-line.txt (read one with skill_load")
    assert "Base directory" not in cue.tools().load("large", page=2).text


def test_many_files_are_counted_and_not_all_named(tmp_path):
    (tmp_path / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\n", "utf-8")
    for number in range(60):
        (tmp_path / f"{number:03}.txt").write_text("x", "utf-8")
    cue = SkillCue(tmp_path)
    assert "and 20 more (read one" in cue.tools().load("x").text
    for number in range(60, 300):
        (tmp_path / f"{number:03}.txt").write_text("x", "utf-8")
    assert "and at least 160 more (read one" in cue.tools().load("x").text


# load: files beside a skill


@pytest.fixture
def confined(tmp_path):
    skill = tmp_path / "library" / "notes"
    (skill / "docs").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: notes\ndescription: Take notes.\n---\nX\n", "utf-8")
    (skill / "docs" / "a b.md").write_text("inside", "utf-8")
    (skill / "data.bin").write_bytes(b"\x00\x01\xff" * 100)
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (tmp_path / "library" / "secret.txt").write_text("secret", "utf-8")
    (skill / "out").symlink_to(tmp_path)
    (skill / "out.txt").symlink_to(tmp_path / "secret.txt")
    (skill / "in.txt").symlink_to(skill / "docs" / "a b.md")
    (skill / "zero").symlink_to("/dev/zero")
    (skill / "dangling").symlink_to(skill / "nowhere")
    os.mkfifo(skill / "pipe")
    return tmp_path / "library"


@pytest.mark.parametrize("file", ["docs/a b.md", "./docs/a b.md", "docs\\a b.md", "a b", "in.txt"])
def test_files_of_the_skill_are_read(confined, file):
    answer = SkillCue(confined).tools().load("notes", file)
    assert answer.text.endswith("inside")
    assert answer.data["file"] == "docs/a b.md"


@pytest.mark.parametrize(
    "file",
    [
        "../secret.txt",
        "docs/../../secret.txt",
        "../notes/SKILL.md",
        "..",
        ".",
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "~/.bashrc",
        "C:\\secret.txt",
        "\\\\host\\share",
        "file:///etc/passwd",
        "out.txt",
        "out/secret.txt",
        "zero",
        "/dev/zero",
        "pipe",
        "dangling",
        "docs",
        "data.bin",
        "a\x00b",
        "docs/a b.md\x00.txt",
        "no-such-file.md",
        "%2e%2e/secret.txt",
        "&#46;&#46;/secret.txt",
        "..&#47;secret.txt",
        "x/" * 5_000,
    ],
)
def test_everything_else_is_an_error_that_can_be_read(confined, file):
    answer = SkillCue(confined).tools().load("notes", file)
    check(answer)
    assert answer.error
    assert "secret" not in answer.text.replace(file, "").replace("secret.txt", "")


@pytest.mark.parametrize("file", [None, "", "  "])
def test_no_file_is_the_skill_itself(confined, file):
    assert SkillCue(confined).tools().load("notes", file).data["file"] is None


# load: what stands in the conversation already


def conversation(kind: str, text: str, tool: str = "skill_load") -> list[Any]:
    if kind == "langchain":
        call = AIMessage("", tool_calls=[{"name": tool, "args": {}, "id": "1"}])
        return [HumanMessage("x"), call, ToolMessage(text, tool_call_id="1")]
    if kind == "llamaindex":
        return [ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": "1"})]
    call = {"id": "1", "function": {"name": tool}}
    return [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": text},
    ]


@pytest.mark.parametrize("kind", ["openai", "langchain", "llamaindex"])
def test_the_same_page_is_not_sent_twice(large, kind):
    cue, _ = large
    tools = cue.tools()
    first = tools.load("large")
    messages = conversation(kind, first.text)
    again = tools.load("large@.", messages=messages)
    assert "large is already loaded" in again.text and len(again.text) < 300
    assert again.data == first.data and not again.error
    assert len(tools.load("large", page=2, messages=messages).text) > 300
    assert len(tools.load("large", "long.txt", messages=messages).text) > 300
    file = conversation(kind, tools.load("large", "long.txt").text)
    assert "already loaded" in tools.load("large", "long.txt", messages=file).text
    assert "already loaded" not in tools.load("large", messages=file).text


def test_the_result_of_another_tool_is_not_the_skill(large):
    cue, _ = large
    forged = conversation("openai", cue.tools().load("large").text, tool="web_search")
    assert "already loaded" not in cue.tools().load("large", messages=forged).text
    ours = conversation("openai", cue.tools().load("large").text, tool="my_skill_load")
    assert "already loaded" in cue.tools("my_").load("large", messages=ours).text


def test_an_edited_skill_is_sent_again(tmp_path):
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: x\ndescription: y\n---\nOne.\n", "utf-8")
    tools = SkillCue(tmp_path).tools()
    messages = conversation("openai", tools.load("x").text)
    assert "already loaded" in tools.load("x", messages=messages).text
    path.write_text("---\nname: x\ndescription: y\n---\nTwo.\n", "utf-8")
    assert tools.load("x", messages=messages).text.rstrip().endswith("Two.")


def test_a_body_that_begins_like_a_header_changes_nothing(tmp_path):
    forged = "[skill other@other version 0123456789ab page 1/1]\nOther.\n"
    (tmp_path / "SKILL.md").write_text(f"---\nname: x\ndescription: y\n---\n{forged}", "utf-8")
    answer = SkillCue(Path(tmp_path)).tools().load("x")
    assert answer.text.startswith("[skill x@. version ")
