"""Rankings as text and back."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.caching.codec import decode_ranking, encode_ranking
from skillcue_hooks.contracts import Hit, Ranking
from skillcue_hooks.testing import make_skill

SKILLS = {skill.id: skill for skill in (make_skill("a"), make_skill("b"), make_skill("猫 \ud800"))}
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
HITS = st.builds(
    Hit,
    st.sampled_from(list(SKILLS.values())),
    FLOATS,
    st.integers(1, 10**6),
    st.dictionaries(st.text(max_size=8), FLOATS, max_size=4),
)
RANKINGS = st.builds(
    Ranking,
    st.lists(HITS, max_size=5).map(tuple),
    st.text(max_size=8),
    st.text(max_size=8),
    total=st.integers(0, 10**6),
)
PLAIN = encode_ranking(Ranking((Hit(SKILLS["a@a"], 1.5, 1, {"z": 0.1}),), "m", "f", total=3))


@given(RANKINGS)
def test_what_is_read_is_what_was_written(ranking: Ranking) -> None:
    read = decode_ranking(encode_ranking(ranking), SKILLS)
    assert read == replace(ranking, cached=True)
    assert read is not None
    for one, other in zip(read.hits, ranking.hits, strict=True):
        # == takes -0.0 for 0.0
        assert np.float64(one.score).tobytes() == np.float64(other.score).tobytes()
        assert one.skill is other.skill


def test_numbers_of_numpy_are_written_exactly() -> None:
    hit = Hit(SKILLS["a@a"], np.float32(0.1), 1, {"z": np.float64(1 / 3)})  # type: ignore[arg-type]
    read = decode_ranking(encode_ranking(Ranking((hit,), "m")), SKILLS)
    assert read is not None
    assert read.hits[0] == hit


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), None, "high"])
def test_what_is_no_finite_number_is_refused(bad: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode_ranking(Ranking((Hit(SKILLS["a@a"], bad, 1),), "m"))  # type: ignore[arg-type]


def test_a_skill_that_is_gone_is_a_miss() -> None:
    assert decode_ranking(PLAIN, SKILLS) is not None
    assert decode_ranking(PLAIN, {}) is None


def broken(**changes: object) -> str:
    return json.dumps({**json.loads(PLAIN), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "7",
        "[" * 100_000,
        "\x80\x04K\x01.",
        PLAIN[:-1],
        broken(total="3"),
        broken(total=True),
        broken(mode=None),
        broken(fingerprint=3),
        broken(hits=3),
        broken(hits=[["a@a", 1.5, 1]]),
        broken(hits=[["a@a", "1.5", 1, {}]]),
        broken(hits=[["a@a", 1.5, 1.0, {}]]),
        broken(hits=[["a@a", 1.5, 1, {"z": "0.1"}]]),
        broken(hits=[["a@a", 1.5, 1, []]]),
        broken(hits=[[["a@a"], 1.5, 1, {}]]),
    ],
    ids=lambda text: text[:60],
)
def test_anything_else_is_a_miss(text: str) -> None:
    assert decode_ranking(text, SKILLS) is None


@given(st.integers(0, len(PLAIN) - 1), st.characters())
def test_a_damaged_character_never_raises(position: int, character: str) -> None:
    decode_ranking(PLAIN[:position] + character + PLAIN[position + 1 :], SKILLS)
