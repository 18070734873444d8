"""What must hold for every file, whatever is in it."""

from __future__ import annotations

import urllib.parse
from dataclasses import fields, replace
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skillcue.library.limits import ReadLimits
from skillcue.library.naming import skill_id
from skillcue.library.reader import Origin, ReadResult, read_body, read_skill
from skillcue_hooks.contracts import Skill

ORIGIN = Origin(Path("/skills/group/tea/SKILL.md"), "group/tea", "tea", "skills")
SMALL = ReadLimits(file_bytes=160, body_chars=20, header_chars=80, header_nodes=8, header_depth=2)

PIECES = st.sampled_from(
    [
        *("---\n", "--- \n", "----\n", "---", "name: tea\n", "name:\n", "description: Brew tea.\n"),
        *(
            "description: a: b\n",
            "description: >-\n  folded\n",
            "metadata:\n  a: &x [1]\n  b: *x\n",
        ),
        *(
            "# Steps\n",
            "\n",
            "Boil.\n",
            "- item\n",
            "```\ncode\n```\n",
            "<!-- note -->\n",
            "\t",
            " ",
        ),
        *("{", "[", "'", '"', "\\", "\u200b", "\x07", "\u2028", "é", "e\u0301", "写", "👩\u200d🍳"),
        *(
            "tags: [a, b]\n",
            "allowed-tools: Bash(git:*), Read\n",
            "disable-model-invocation: true\n",
        ),
    ]
)
texts = st.lists(PIECES, max_size=14).map("".join)
encoded = st.builds(
    lambda text, encoding: text.encode(encoding, "replace"),
    texts,
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "utf-16-le"]),
)
contents = st.one_of(
    st.binary(max_size=200),
    encoded,
    st.builds(lambda a, b, c: a + b + c, encoded, st.binary(max_size=8), encoded),
)


def strings(skill: Skill) -> list[str]:
    found = [skill.id, skill.name, skill.description, skill.body, skill.category]
    found += [*skill.tags, *skill.allowed_tools, *skill.aliases]
    found += [*skill.metadata.keys(), *skill.metadata.values()]
    return found


def check(result: ReadResult) -> None:
    if result.skill is None:
        assert any(item.severity == "error" for item in result.diagnostics)
        return
    skill = result.skill
    for text in strings(skill):
        text.encode("utf-8")
        assert not any(char in text for char in "\x00\x07\r\u200b\u2028\ufeff")
    assert skill.name and "\n" not in skill.name
    assert "\n" not in skill.description
    assert len(skill.content_hash) == 64
    assert skill.description or not skill.pushable


@settings(max_examples=1200, deadline=None)
@given(contents)
def test_any_bytes_give_a_skill_or_an_error(data: bytes) -> None:
    result = read_skill(data, ORIGIN)
    check(result)
    assert read_skill(data, ORIGIN) == result
    body = read_body(data, ORIGIN.path)
    assert result.skill is None or len(result.skill.body) <= len(body) or not body.isascii()


@settings(max_examples=600, deadline=None)
@given(contents)
def test_any_bytes_stay_within_small_limits(data: bytes) -> None:
    result = read_skill(data, ORIGIN, SMALL)
    check(result)
    if result.skill is not None:
        assert len(result.skill.body) <= SMALL.body_chars
    codes = {item.code for item in result.diagnostics}
    assert ("file-too-large" in codes) is (len(data) > SMALL.file_bytes)


@settings(max_examples=600, deadline=None)
@given(contents)
def test_strict_reading_gives_the_same_skill_or_none(data: bytes) -> None:
    lenient, strict = read_skill(data, ORIGIN), read_skill(data, ORIGIN, strict=True)
    clean = all(item.severity == "info" for item in lenient.diagnostics)
    assert strict.skill == (lenient.skill if clean else None)


@settings(max_examples=500, deadline=None)
@given(texts)
def test_line_ends_and_encodings_change_neither_record_nor_hash(text: str) -> None:
    assume(not text.startswith("\ufeff"))
    plain = read_skill(text.encode(), ORIGIN)
    variants = [
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        text.encode("utf-8-sig"),
        b"\xff\xfe" + text.encode("utf-16-le"),
        b"\xfe\xff" + text.replace("\n", "\r\n").encode("utf-16-be"),
    ]
    for data in variants:
        other = read_skill(data, ORIGIN)
        assert other.skill == plain.skill
        notes = [item for item in other.diagnostics if item.code != "encoding-utf16"]
        assert notes == list(plain.diagnostics)
        assert read_body(data, ORIGIN.path) == read_body(text.encode(), ORIGIN.path)


@given(st.binary(max_size=60), st.integers(1, 60))
def test_a_character_cut_by_the_size_limit_is_not_called_invalid(tail: bytes, limit: int) -> None:
    data = "name é 写 👩 ".encode() * 8
    result = read_skill(data + tail, ORIGIN, replace(SMALL, file_bytes=limit))
    assert {item.code for item in result.diagnostics}.isdisjoint({"encoding-invalid", "not-text"})


@settings(max_examples=500)
@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_quoting_in_ids_can_be_undone(name: str, folder: str) -> None:
    made = skill_id(name, folder)
    quoted, separator, where = made.partition("@")
    assert separator == "@"
    undo = {"errors": "surrogateescape"}
    assert urllib.parse.unquote(quoted, **undo) == name
    assert urllib.parse.unquote(where, **undo) == folder
    assert not set(quoted) & set("@/\\ \t\n")


def test_every_field_of_a_skill_is_looked_at_by_these_tests() -> None:
    texts = {"id", "name", "description", "body", "tags", "metadata", "allowed_tools"}
    texts |= {"category", "aliases", "content_hash"}
    given_by_origin = {"path", "source", "trust"}
    flags = {"derived_from", "description_derived", "searchable", "pushable", "user_invocable"}
    added_later = {"search_terms"}  # by augmentation, never by the reader
    assert {item.name for item in fields(Skill)} == texts | given_by_origin | flags | added_later
