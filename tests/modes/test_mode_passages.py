"""Bodies in chunks and long texts in sentences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.passages import MIN_SENTENCE_CHARS, chunks, sentences

MARKDOWN = st.text(alphabet="ab # \n\t.漢é", max_size=400)


# --- chunks -------------------------------------------------------------------------------


@given(MARKDOWN, st.integers(1, 120))
def test_chunks_lose_nothing_and_keep_to_their_size(body: str, size: int) -> None:
    found = chunks(body, size)
    assert all(0 < len(chunk) <= size for chunk in found)
    assert all(chunk == chunk.strip() for chunk in found)
    assert "".join("".join(found).split()) == "".join(body.split())


@pytest.mark.parametrize("body", ["", "   ", "\n\n\n", " \n \t \n"])
def test_a_blank_body_has_no_chunks(body: str) -> None:
    assert chunks(body, 700) == []


def test_small_blocks_share_a_chunk_until_it_is_full() -> None:
    assert chunks("one\n\ntwo\n\nthree", 9) == ["one\ntwo", "three"]
    assert chunks("one\n\ntwo\n\nthree", 13) == ["one\ntwo\nthree"]


def test_a_heading_begins_a_chunk_once_the_present_one_is_half_full() -> None:
    text = "a" * 30 + "\n\n## Next\n\nmore"
    assert chunks(text, 50) == ["a" * 30, "## Next\nmore"]
    assert chunks(text, 100) == ["a" * 30 + "\n## Next\nmore"]


def test_a_heading_needs_no_blank_line_before_it() -> None:
    assert chunks("a" * 30 + "\n# Next", 50) == ["a" * 30, "# Next"]
    assert chunks("a" * 30 + "\n#hashtag", 50) == ["a" * 30 + "\n#hashtag"]


def test_a_long_block_is_cut_between_words_where_there_is_one() -> None:
    assert chunks("alpha beta gamma", 11) == ["alpha beta", "gamma"]
    assert chunks("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_space_early_in_the_chunk_is_no_place_to_cut() -> None:
    # "a" alone would be a chunk that says nothing.
    assert chunks("a " + "b" * 20, 12)[0] == "a " + "b" * 10


# --- sentences ----------------------------------------------------------------------------


def test_sentences_and_lines_in_their_order_each_once() -> None:
    text = "Clean the table first.  Then plot all of it!\n- Clean it.\nThen plot all of it!"
    assert sentences(text, 10) == ["Clean the table first.", "Then plot all of it!"]


def test_pieces_without_a_word_or_too_short_are_left_out() -> None:
    assert sentences("Steps:\n1. 2. 3.\n------------------------\nRead the whole file.", 9) == [
        "Read the whole file."
    ]
    exactly = "abc" + "-" * (MIN_SENTENCE_CHARS - 3)
    assert sentences(exactly, 9) == [exactly]
    assert sentences(exactly[:-1], 9) == []


def test_chinese_and_japanese_stops_end_a_sentence_without_a_blank() -> None:
    text = "请帮我把这些发票和银行流水核对一下。然后把结果写成一份简短的报告给老板！谢谢"  # noqa: RUF001
    first, second = sentences(text, 9)
    assert first.endswith("。")
    assert second.startswith("然后")


def test_of_too_many_the_beginning_and_the_end_are_taken() -> None:
    lines = [f"this is line number {n}" for n in range(20)]
    assert sentences("\n".join(lines), 5) == [*lines[:3], *lines[-2:]]
    assert sentences("\n".join(lines), 1) == lines[:1]
    assert sentences("\n".join(lines), 20) == lines


@given(st.text(max_size=400), st.integers(1, 8))
def test_sentences_are_pieces_of_the_text(text: str, most: int) -> None:
    found = sentences(text, most)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    assert all(piece in text and re.search(r"[^\W\d_]{3}", piece) for piece in found)
