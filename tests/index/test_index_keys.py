"""Keys against the obvious way to do the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.index.keys import content_keys, match_keys, smallest

TEXTS = st.lists(st.sampled_from([f"text {n}" for n in range(60)]), unique=True, max_size=60)


@given(TEXTS, TEXTS)
def test_match_finds_what_a_dictionary_finds(known: list[str], wanted: list[str]) -> None:
    places = {text: place for place, text in enumerate(known)}
    found = match_keys(content_keys("a", known), content_keys("a", wanted))
    assert found.tolist() == [places.get(text, -1) for text in wanted]


def test_keys_that_only_begin_alike_are_told_apart() -> None:
    one = content_keys("a", ["x"])
    other = one.copy()
    other[0, 31] ^= 1
    assert match_keys(one, other).tolist() == [-1]
    many = np.concatenate([other, content_keys("a", [f"t{n}" for n in range(40)])])
    assert match_keys(one, many).tolist() == [-1] * 41


def test_another_identity_has_other_keys() -> None:
    assert match_keys(content_keys("a", ["x"]), content_keys("b", ["x"])).tolist() == [-1]


@given(TEXTS, st.integers(1, 70))
def test_smallest_is_the_beginning_of_the_sorted_keys(texts: list[str], count: int) -> None:
    keys = content_keys("a", texts)
    expected = sorted(range(len(texts)), key=lambda n: keys[n].tobytes())[:count]
    assert smallest(keys, count).tolist() == expected


def test_smallest_sorts_keys_that_begin_alike() -> None:
    keys = np.zeros((6, 32), dtype=np.uint8)
    keys[:, 31] = [5, 3, 4, 1, 2, 0]
    assert smallest(keys, 3).tolist() == [5, 3, 4]
