"""The header parsers: the fast one, the YAML one and the repair must not contradict each other."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillcue.library.frontmatter import HeaderError, HeaderMap, load_map, load_plain, load_yaml
from skillcue.library.limits import DEFAULT_LIMITS, ReadLimits
from skillcue.library.reader import ReadResult
from skillcue.library.repair import repair

KEYS = ["name", "description", "license", "a-b", "x_1", "Tags", "n", "null", "yes"]
PIECES = [
    *("tea", "Brew tea", "1.10", "007", "on", "2026-01-02", "~", "null", "true", "écru", "写", "é"),
    *(" ", "  ", ": ", ":", " #", "#", "# ", ",", "- ", "-", "? ", "?", "|", ">", "*", "&", "!"),
    *("%", "@", "`", '"', "'", '""', "''", "\\", "{", "}", "[", "]", "\t", "---", "...", "<<", "="),
]
values = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
tidy_values = st.lists(
    st.sampled_from(["tea", "Brew tea", "1.10", "écru", " ", ",", "-", "'", "#x", ":y", "(a)"]),
    min_size=1,
    max_size=6,
).map("".join)
lines = st.one_of(
    st.builds(lambda k, gap, v: f"{k}:{gap}{v}", st.sampled_from(KEYS), st.sampled_from([" ", "  ", "", "\t"]), values),
    st.builds(lambda k, v: f"{k}: {v}", st.sampled_from(KEYS), tidy_values),
    st.builds(lambda k, q, v: f"{k}: {q}{v}{q}", st.sampled_from(KEYS), st.sampled_from("\"'"), tidy_values),
    st.sampled_from(["", "  wrapped", "  - item", "- item", "# note", "  a: b"]),
)  # fmt: skip
headers = st.lists(lines, min_size=1, max_size=5).map("\n".join)

BLOCKS = [
    "description: Brew tea.",
    "license: MIT",
    "tags: [hot, iced]",
    "tools: {a: b}",
    "text: >-\n  one\n  two",
    "literal: |\n  one\n   two",
    "wrapped: one\n  two",
    "list:\n- one\n- two",
    "deep:\n  a:\n    b: c\n  d: [e]",
    "quoted: 'it''s'",
    'escaped: "a\\tb"',
    "number: 1.10",
    "empty:",
    "noted: tea # comment",
    "hash: tea #1",
]
BROKEN = [
    "bad: one: two",
    "bad: `x`",
    'bad: "a" b',
    "bad: [a] b",
    "bad: > text",
    "bad: *x.y",
    "bad: &a b",
    "bad:\n  one: a: b",
    "bad: 'never closed",
]


def fields(found: HeaderMap) -> tuple[object, ...]:
    return (list(found.values.items()), found.lines, found.written, found.findings)


@settings(max_examples=1000, deadline=None)
@given(st.one_of(lines, st.lists(lines, min_size=2, max_size=3).map("\n".join)))
@example("name: a:b")
@example("name: a #b")
@example("name: a# b")
@example("name: 'a' ")
@example("name: a\n\nlicense: b")
def test_fast_parser_agrees_with_yaml_wherever_it_answers(header: str) -> None:
    fast = load_plain(header)
    if fast is not None:
        assert fields(fast) == fields(load_yaml(header, DEFAULT_LIMITS))


@pytest.mark.parametrize(
    "header",
    [
        "name: tea\ndescription: Brew tea, hot or iced (it's easy) at x:y and a#b.\n",
        "name: \"tea\"\ndescription: 'Brew: tea'\nlicense: 1.10\n",
        "name: tea\n\ndescription: écru 写\n",
    ],
)
def test_fast_parser_answers_for_the_commonest_headers(header: str) -> None:
    assert load_plain(header) is not None


@pytest.mark.parametrize(
    "line",
    ["a: b: c", "a: b #c", "a: #b", "a:", "a: [b]", "a: >-", "a: b:", "a: *b", "a: \tb",
     'a: "b\\n"', "a: 'it''s'", "a: - b", "  a: b", "a: b\n  c", "- a", "a: b\na: c"],
)  # fmt: skip
def test_fast_parser_leaves_everything_else_to_yaml(line: str) -> None:
    assert load_plain(line) is None


@settings(max_examples=600, deadline=None)
@given(headers)
def test_a_header_that_is_valid_yaml_gives_the_text_that_yaml_gives(header: str) -> None:
    """Against PyYAML's own text-only loader, where none of our departures from YAML apply."""
    expected = _text_only_yaml(re.sub("[#&*!]", "x", header))
    if expected is None:
        return
    got = load_map(re.sub("[#&*!]", "x", header), DEFAULT_LIMITS)
    if not got.findings:  # duplicates: YAML takes the last, we take the first
        assert {key: _empty_as_yaml(value) for key, value in got.values.items()} == expected


def _text_only_yaml(header: str) -> dict[str, object] | None:
    try:
        loaded = yaml.load(header, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, TypeError):  # TypeError: a list or map as a key
        return None
    usable = isinstance(loaded, dict) and all(isinstance(key, str) for key in loaded)
    return loaded if usable else None


def _empty_as_yaml(value: object) -> object:
    if isinstance(value, dict):
        return {key: _empty_as_yaml(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_empty_as_yaml(item) for item in value]
    return "" if value is None else value


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5, unique=True),
    st.sampled_from(BROKEN),
    st.integers(0, 5),
)
def test_repair_changes_no_field_that_parses(good: list[str], bad: str, place: int) -> None:
    clean = load_yaml("\n".join([*good, ""]), DEFAULT_LIMITS)
    mixed = "\n".join([*good[:place], bad, *good[place:], ""])
    with pytest.raises(HeaderError):
        load_yaml(mixed, DEFAULT_LIMITS)
    repaired = repair(mixed, DEFAULT_LIMITS)
    others = {key: value for key, value in repaired.values.items() if key != "bad"}
    assert others == clean.values
    assert {key: text for key, text in repaired.written.items() if key != "bad"} == clean.written
    assert "bad" in repaired.values


@pytest.mark.parametrize("block", BLOCKS)
def test_repairing_a_clean_header_gives_what_yaml_gives(block: str) -> None:
    header = f"name: tea\n{block}\nlast: x\n"
    assert fields(repair(header, DEFAULT_LIMITS)) == fields(load_yaml(header, DEFAULT_LIMITS))


@settings(max_examples=500, deadline=None)
@given(headers)
def test_repair_never_raises_and_loses_no_key(header: str) -> None:
    found = repair(header, DEFAULT_LIMITS)
    reported = " ".join(message for _, message, _ in found.findings)
    for line in header.split("\n"):
        key, colon, rest = line.partition(": ")
        if colon and key in KEYS and rest.strip():
            assert key in found.values or key in reported


def bomb(levels: int) -> str:
    """Each level holds the one before nine times: 9 ** levels leaves when expanded."""
    rows = ["metadata:", "  l0: &l0 [" + ",".join(["x"] * 9) + "]"]
    for level in range(1, levels):
        rows.append(f"  l{level}: &l{level} [" + ",".join([f"*l{level - 1}"] * 9) + "]")
    return "\n".join(rows)


def test_alias_bomb_is_never_expanded(read: Callable[..., ReadResult]) -> None:
    text = f"---\nname: tea\ndescription: Brew tea.\n{bomb(30)}\n---\n"
    with pytest.raises(HeaderError, match="anchor"):
        load_yaml(bomb(30), DEFAULT_LIMITS)
    result = read(text)
    assert result.skill is not None
    assert (result.skill.name, result.skill.description) == ("tea", "Brew tea.")
    assert sum(map(len, result.skill.metadata.values())) < len(text)
    assert [item.code for item in result.diagnostics] == ["value-repaired"]


@pytest.mark.parametrize(
    ("header", "limits"),
    [
        ("a: " + "[" * 40 + "]" * 40, ReadLimits(header_depth=16)),
        ("a: [" + ",".join("x" * 60) + "]", ReadLimits(header_nodes=50)),
    ],
    ids=["depth", "nodes"],
)
def test_header_limits_stop_the_parser(header: str, limits: ReadLimits) -> None:
    with pytest.raises(HeaderError) as caught:
        load_yaml(header, limits)
    assert caught.value.too_large


@pytest.mark.parametrize(
    ("extra", "limits"),
    [
        ("metadata:\n" + "".join(f"  k{n}: v\n" for n in range(60)), ReadLimits(header_nodes=50)),
        ("deep: " + "[" * 20 + "]" * 20 + "\n", ReadLimits()),
        ("more: " + "x" * 500 + "\n", ReadLimits(header_chars=300)),
        ("".join(f"k{n}: [v] w\n" for n in range(60)), ReadLimits(header_nodes=50)),
    ],
    ids=["nodes", "depth", "characters", "fields"],
)
def test_a_header_beyond_a_limit_keeps_name_and_description(
    extra: str, limits: ReadLimits, read: Callable[..., ReadResult]
) -> None:
    text = f"---\nname: tea\ndescription: Brew tea.\n{extra}---\n\nBoil.\n"
    result = read(text, limits=limits)
    assert result.skill is not None
    assert (result.skill.name, result.skill.description) == ("tea", "Brew tea.")
    assert result.skill.body == "Boil."
    assert "header-too-large" in {item.code for item in result.diagnostics}


def test_deeply_nested_flow_ends_without_recursion_error(read: Callable[..., ReadResult]) -> None:
    result = read("---\nname: tea\nx: " + "[" * 60_000 + "\n---\n\nBoil.\n")
    assert result.skill is not None and result.skill.name == "tea"
