"""The yardstick of a rebuild: cosine, neighbours and speed."""

from __future__ import annotations

import time

import numpy as np
import pytest

from skillcue_adapters.encoders.builder.compare import compare, read_texts, speed_ratio


class Fixed:
    """An encoder of given vectors, by position, that takes its time over a query."""

    fingerprint = "fixed"
    dim = 2

    def __init__(self, rows, seconds=0.0):
        self.rows = np.array(rows, dtype=np.float32)
        self.seconds = seconds

    def encode_documents(self, texts):
        return self.rows[: len(texts)]

    def encode_queries(self, texts):
        until = time.process_time() + self.seconds
        while time.process_time() < until:
            pass
        return self.rows[: len(texts)]


def circle(count, turned=0.0):
    angles = np.linspace(0, 2, count) + turned
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_an_encoder_is_like_itself(static, texts):
    found = compare(static, static, [text for text in texts if len(text) > 20])
    assert found.mean == pytest.approx(1)
    assert found.least == pytest.approx(1)
    assert found.overlap == 1


def test_cosines_are_of_the_same_text():
    rows = circle(30)
    turned = rows.copy()
    turned[0] = -turned[0]
    found = compare(Fixed(rows), Fixed(turned), ["t"] * 30)
    assert found.mean == pytest.approx(28 / 30)
    assert found.least == pytest.approx(-1)


def test_neighbours_survive_a_turn_and_do_not_survive_a_shuffle():
    rows = circle(200)
    assert compare(Fixed(rows), Fixed(circle(200, 1.0)), ["t"] * 200).overlap > 0.95
    shuffled = np.random.default_rng(0).permutation(rows)
    assert compare(Fixed(rows), Fixed(shuffled), ["t"] * 200).overlap < 0.2


def test_speed_is_how_often_one_fits_into_the_other():
    rows = circle(3)
    # Long enough that a garbage collection in between does not count.
    ratio = speed_ratio(Fixed(rows, 0.02), Fixed(rows, 0.1), ["t"] * 3, rounds=1)
    assert ratio == pytest.approx(5, rel=0.4)


def test_texts_are_paragraphs_of_some_length_spread_over_the_files(example_skills):
    few, many = (read_texts(example_skills, limit) for limit in (20, 500))
    assert (len(few), len(many)) == (20, 500)
    assert min(map(len, many)) >= 40
    assert len(set(many)) > 480
