"""Fingerprints: equal values have equal ones, different values do not, in any process."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_hooks.fingerprint import canonical_json, fingerprint
from skillcue_hooks.testing import make_skill

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates included
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | ANY_TEXT
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)

AWKWARD: list[Any] = [
    None, "null", True, "true", False, 0, "0", 0.0, 1, "1", 1.0, "1.0", 2**64, 2.0**64, 10**16, 1e16,
    "", " ", [], {}, [[]], [None], "[]", "{}", ["a", "b"], ["b", "a"], ["ab"], "ab", [["a"], "b"],
    {"a": 1}, {"a": "1"}, {"a": None}, {"b": 1}, [["a", 1]], '{"a":1}', '"', "\\", "\\u0041", "A", "a",
    "é", "e\u0301", "\ud83d\ude00", "😀", "\ud83d", "\udc80", "\x00", "\n", "\\n", "\u2028",
]  # fmt: skip


def typed(value: Any) -> Any:
    """`value` so that ``==`` tells types apart and -0.0 from nothing."""
    if isinstance(value, list | tuple):
        return ["list", *map(typed, value)]
    if isinstance(value, Mapping):
        return {key: typed(item) for key, item in value.items()}
    return (type(value).__name__, value)


@given(PLAIN, st.randoms())
def test_the_order_of_keys_does_not_matter(value: Any, chance: random.Random) -> None:
    def shuffled(inner: Any) -> Any:
        if isinstance(inner, dict):
            keys = list(inner)
            chance.shuffle(keys)
            return {key: shuffled(inner[key]) for key in keys}
        return [shuffled(item) for item in inner] if isinstance(inner, list) else inner

    assert canonical_json(shuffled(value)) == canonical_json(value)
    assert fingerprint(shuffled(value)) == fingerprint(value)


@given(PLAIN)
def test_a_tuple_counts_as_a_list_and_any_mapping_as_a_dict(value: Any) -> None:
    def other(inner: Any) -> Any:
        if isinstance(inner, dict):
            return MappingProxyType({key: other(item) for key, item in inner.items()})
        return tuple(map(other, inner)) if isinstance(inner, list) else inner

    assert fingerprint(other(value)) == fingerprint(value)


@given(st.sets(SCALARS))
def test_a_set_counts_as_one_order_of_its_items(value: set[Any]) -> None:
    order = sorted(value, key=repr)
    there = set(order)
    order.reverse()
    back = set(order)
    assert fingerprint(there) == fingerprint(back) == fingerprint(frozenset(value))


@given(st.sets(SCALARS))
def test_a_set_counts_as_the_list_in_order_of_its_json_texts(value: set[Any]) -> None:
    items = [item + 0.0 if isinstance(item, float) else item for item in value]
    ordered = sorted(items, key=lambda item: json.dumps(item, ensure_ascii=False))
    assert fingerprint(value) == fingerprint(ordered)


@given(PLAIN, PLAIN)
def test_different_values_differ(one: Any, other: Any) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (typed(one) == typed(other))


def test_awkward_values_all_differ() -> None:
    digests = {fingerprint(value): value for value in AWKWARD}
    assert len(digests) == len(AWKWARD)
    in_a_set = [fingerprint({value}) for value in AWKWARD if isinstance(value, str)]
    assert len(set(in_a_set)) == len(in_a_set)


def test_parts_do_not_run_together() -> None:
    parts: list[tuple[Any, ...]] = [
        (),
        ("",),
        ("", ""),
        ("ab",),
        ("a", "b"),
        (["a", "b"],),
        (None,),
    ]
    assert len({fingerprint(*p) for p in parts}) == len(parts)


def test_minus_zero_is_zero() -> None:
    assert fingerprint(-0.0) == fingerprint(0.0)
    assert canonical_json([-0.0]) == "[0.0]"


@given(PLAIN)
def test_canonical_json_is_ascii_json_that_reads_back(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    if "\\ud" not in text:  # JSON itself cannot tell two surrogates from their pair
        assert json.loads(text) == value


def test_canonical_json_of_an_example() -> None:
    value = {"k": 5, "b": [1.5, True, None], "a": ("é", {"z", "y", 1})}
    assert canonical_json(value) == '{"a":["\\u00e9",["y","z",1]],"b":[1.5,true,null],"k":5}'


def test_the_digest_is_the_sha256_of_the_list_of_parts() -> None:
    # echo -n '["bm25",{"k1":1.2}]' | sha256sum
    expected = "b17297dd0e10d103a3fc3aae52cb937663b0379d61e97e7c3ebb9f0b5a40259d"
    assert fingerprint("bm25", {"k1": 1.2}) == expected


class Mode(StrEnum):
    FAST = "fast"


class Level(IntEnum):
    HIGH = 3


def test_enumerations_count_as_their_value() -> None:
    assert fingerprint(Mode.FAST, {Mode.FAST: Level.HIGH}) == fingerprint("fast", {"fast": 3})


@pytest.mark.parametrize("key", [1, None, True, 1.0, ("a",), b"a"])
def test_keys_that_are_not_text_are_refused(key: Any) -> None:
    with pytest.raises(TypeError, match="keys must be text"):
        fingerprint({"outer": [{key: 1}]})


@pytest.mark.parametrize(
    "value", [b"a", Path("a"), object(), 1j, make_skill("a"), iter("a"), range(3), type]
)
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    for holder in (value, [value], {"a": value}):
        with pytest.raises(TypeError, match="is not plain data"):
            fingerprint(holder)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    for holder in (number, [number], {"a": number}, {number}):
        with pytest.raises(ValueError, match="JSON compliant"):
            fingerprint(holder)
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical_json(holder)


def test_numpy_scalars_are_refused_or_count_as_what_they_equal() -> None:
    numpy = pytest.importorskip("numpy")
    assert fingerprint(numpy.float64(0.1)) == fingerprint(0.1)
    for value in (numpy.int64(1), numpy.bool_(True), numpy.float32(0.1), numpy.array([1])):
        with pytest.raises(TypeError, match="is not plain data"):
            fingerprint(value)


PROGRAM = """
from skillcue_hooks.fingerprint import canonical_json, fingerprint
from skillcue_hooks.testing import make_library, make_skill
value = {"modes": {"bm25", "dense", "refine", "é", 1, 2.5, None}, "k": 5, "nested": [{"a": {"x", "y"}}]}
print(fingerprint(value, frozenset({("a", 1), ("b", 2)})))
print(canonical_json(value))
print(make_library([make_skill(n, metadata={"b": "1", "a": "2"}) for n in "cab"]).generation)
"""


def test_every_process_and_hash_seed_agrees() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in ("0", "1", "2", "42", "random")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 3
