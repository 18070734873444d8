"""Side fields in the forms people write them, and what stands in for a missing description."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skillcue.library.fields import first_paragraph
from skillcue.library.reader import ReadResult
from skillcue_hooks.contracts import Skill


@pytest.fixture
def with_header(read: Callable[..., ReadResult]) -> Callable[[str], Skill]:
    def run(extra: str) -> Skill:
        result = read(f"---\nname: tea\ndescription: Brew tea.\n{extra}\n---\n\nBoil.\n")
        assert result.skill is not None
        assert result.diagnostics == ()
        return result.skill

    return run


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Read, Write", ("Read", "Write")),
        ("Read Write", ("Read", "Write")),
        ("Read,Write,Read", ("Read", "Write")),
        ("Bash(git add:*) Read", ("Bash(git add:*)", "Read")),
        ("Bash(git add:*, git log:*), Read", ("Bash(git add:*, git log:*)", "Read")),
        ("[Read, 'Bash(git add:*)']", ("Read", "Bash(git add:*)")),
        ("\n  - Read\n  - Bash(ls *)", ("Read", "Bash(ls *)")),
        ("\n- Read\n- Bash: ls", ("Read", "Bash(ls)")),
        ("{Read: true, Bash: [ls, cat]}", ("Read", "Bash(ls, cat)")),
        ("", ()),
    ],
)
def test_allowed_tools_become_a_tuple(
    written: str, tools: tuple[str, ...], with_header: Callable[[str], Skill]
) -> None:
    assert with_header(f"allowed-tools: {written}").allowed_tools == tools


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("hot", ("hot",)),
        ("hot, iced tea, hot", ("hot", "iced tea")),
        ("[hot, 1.10]", ("hot", "1.10")),
        ("\n- hot\n- iced", ("hot", "iced")),
        ("{hot: true, iced: }", ("hot", "iced")),
    ],
)
def test_tags_become_a_tuple(
    written: str, tags: tuple[str, ...], with_header: Callable[[str], Skill]
) -> None:
    assert with_header(f"tags: {written}").tags == tags
    assert with_header(f"metadata:\n  tags: [a]\ntags: {written}").tags == tags


def test_tags_may_stand_under_metadata(with_header: Callable[[str], Skill]) -> None:
    assert with_header("metadata:\n  tags: [hot, iced]").tags == ("hot", "iced")


def test_other_fields_become_flat_text(with_header: Callable[[str], Skill]) -> None:
    skill = with_header(
        "license: MIT\n"
        "compatibility: [one, two]\n"
        "metadata:\n"
        "  version: 1.10\n"
        "  author:\n"
        "    name: Ann\n"
        "  steps:\n"
        "    - do: boil\n"
        "    - do: pour\n"
        "  license: other\n"
        "empty:"
    )
    assert dict(skill.metadata) == {
        "license": "MIT",
        "compatibility": "one, two",
        "empty": "",
        "version": "1.10",
        "author.name": "Ann",
        "steps.0.do": "boil",
        "steps.1.do": "pour",
        "metadata.license": "other",
    }


def test_metadata_may_be_text(with_header: Callable[[str], Skill]) -> None:
    assert dict(with_header("metadata: plain").metadata) == {"metadata": "plain"}


TRUE = [
    "true",
    "True",
    "TRUE",
    "yes",
    "Yes",
    "on",
    "ON",
    "y",
    "Y",
    "1",
    '"on"',
    "'true'",
    " true  ",
]
FALSE = ["false", "False", "FALSE", "no", "No", "off", "OFF", "n", "N", "0", '"no"', "'false'"]
UNSET = ["", "null", "~", '""']


@pytest.mark.parametrize("flag", TRUE)
def test_a_flag_that_is_true(flag: str, with_header: Callable[[str], Skill]) -> None:
    assert not with_header(f"disable-model-invocation: {flag}").searchable
    assert with_header(f"user-invocable: {flag}").user_invocable


@pytest.mark.parametrize("flag", FALSE)
def test_a_flag_that_is_false(flag: str, with_header: Callable[[str], Skill]) -> None:
    assert with_header(f"disable-model-invocation: {flag}").searchable
    assert not with_header(f"user-invocable: {flag}").user_invocable


@pytest.mark.parametrize("flag", UNSET)
def test_a_flag_without_a_value_is_not_set(flag: str, with_header: Callable[[str], Skill]) -> None:
    skill = with_header(f"disable-model-invocation: {flag}\nuser-invocable: {flag}")
    assert (skill.searchable, skill.pushable, skill.user_invocable) == (True, True, True)


@pytest.mark.parametrize("flag", ["maybe", "[true]", "{a: true}", "2", "truee", "tr\u00fce"])
def test_a_flag_that_is_no_boolean_is_reported_and_not_set(
    flag: str, read: Callable[..., ReadResult]
) -> None:
    header = f"disable-model-invocation: {flag}\nuser-invocable: {flag}"
    result = read(f"---\nname: tea\ndescription: Brew tea.\n{header}\n---\n\nBoil.\n")
    assert result.skill is not None
    assert (result.skill.searchable, result.skill.user_invocable) == (True, True)
    assert [(d.code, d.line) for d in result.diagnostics] == [
        ("field-not-boolean", 4),
        ("field-not-boolean", 5),
    ]
    assert not {"user-invocable", "disable-model-invocation"} & set(result.skill.metadata)


@pytest.mark.parametrize("key", ["User_Invocable", "user invocable", "USER-INVOCABLE"])
def test_a_flag_under_another_spelling(key: str, read: Callable[..., ReadResult]) -> None:
    result = read(f"---\nname: tea\ndescription: Brew tea.\n{key}: false\n---\n\nBoil.\n")
    assert result.skill is not None and not result.skill.user_invocable
    assert [d.code for d in result.diagnostics] == ["key-spelling"]


@pytest.mark.parametrize(
    ("body", "paragraph"),
    [
        ("# Title\n\nFirst\nlines.\n\nSecond.", "First lines."),
        ("Title\n=====\n\nText.", "Text."),
        ("Title\n---\nText.", "Text."),
        ("Text right away\n# Title", "Text right away"),
        ("```sh\nls\n```\nText.", "Text."),
        ("~~~~\n```\nls\n~~~~\nText.", "Text."),
        ("<!-- a\n\nnote -->\nText.", "Text."),
        ("| a | b |\n|---|---|\n\nText.", "Text."),
        ("![logo](logo.png)\n\nText.", "Text."),
        ("***\n\nText.", "Text."),
        ("[x]: http://example.org\n\nText.", "Text."),
        ("- one\n- two\n\nText.", "- one - two"),
        ("> quoted\n> more", "> quoted > more"),
        ("# Title\n\n## Other", ""),
        ("```\nnever closed\n\nText.", ""),
        ("", ""),
    ],
)
def test_first_paragraph_is_the_first_prose(body: str, paragraph: str) -> None:
    assert first_paragraph(body) == paragraph


def test_hidden_characters_do_not_enter_side_fields(read: Callable[..., ReadResult]) -> None:
    escaped = 'tags: ["h\\u200bot"]\nallowed-tools: ["R\\aead"]\nnote: "a\\u202eb"'
    result = read(f"---\nname: tea\ndescription: Brew.\n{escaped}\n---\n")
    assert result.skill is not None
    assert result.skill.tags == ("hot",)
    assert result.skill.allowed_tools == ("Read",)
    assert result.skill.metadata["note"] == "ab"


def test_body_is_indexed_up_to_its_limit_and_the_rest_is_reported(
    read: Callable[..., ReadResult],
) -> None:
    text = "---\nname: tea\ndescription: Brew tea.\n---\n" + "boil\n" * 60_000
    result = read(text)
    assert result.skill is not None
    assert len(result.skill.body) == 100_000
    (note,) = result.diagnostics
    assert (note.code, note.severity) == ("body-shortened", "info")
    assert note.message == "100000 of 299999 characters are indexed."
    assert read(text, strict=True).skill == result.skill
