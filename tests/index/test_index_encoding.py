"""While a library is encoded: what answers say, and what is kept when it stops."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.index_libraries import CountingEncoder, build_retriever, make_skills

from skillcue_adapters import batched_work
from skillcue_adapters.scoring import EncodingProgress
from skillcue_hooks.contracts import Query
from skillcue_hooks.errors import ConfigurationError

QUERY = Query("merge pdf form", k=3)


class GatedEncoder(CountingEncoder):
    """Encodes a batch for each permission."""

    def __init__(self) -> None:
        super().__init__()
        self.permits = threading.Semaphore(0)
        self.batches = threading.Semaphore(0)

    def encode_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches.release()
        assert self.permits.acquire(timeout=60)
        return super().encode_documents(texts)


@pytest.mark.parametrize("mode", ["dense", "hybrid", "skillsight"])
def test_answers_are_lexical_and_say_how_far_it_is(mode: str) -> None:
    encoder = GatedEncoder()
    made = build_retriever(mode, make_skills(1000), encoder)
    assert encoder.batches.acquire(timeout=60)
    ranking = made.search(QUERY)
    assert ranking.degraded == "encoding, 0% done"
    assert ranking.hits == made.built["bm25"].search(QUERY).hits
    encoder.permits.release()
    assert encoder.batches.acquire(timeout=60)
    assert made.search(QUERY).degraded == "encoding, 6% done"
    assert made.progress == EncodingProgress(texts=1000, new=1000, encoded=64)
    assert not made.wait_ready(0.05)
    encoder.permits.release(100)
    assert made.wait_ready(60)
    assert made.search(QUERY).degraded is None
    assert made.progress == EncodingProgress(texts=1000, new=1000, encoded=1000)


def test_looking_up_a_large_library_does_not_delay_the_first_answer(tmp_path: Path) -> None:
    skills = make_skills(1000)
    assert build_retriever("dense", skills, CountingEncoder(), tmp_path).wait_ready(60)
    encoder = CountingEncoder()
    made = build_retriever("dense", skills, encoder, tmp_path)
    assert made.search(QUERY).degraded in (None, "loading the index")
    assert made.wait_ready(60)
    assert made.progress == EncodingProgress(texts=1000)
    assert encoder.encoded == []


def test_what_is_encoded_when_it_stops_is_kept(tmp_path: Path) -> None:
    encoder = GatedEncoder()
    made = build_retriever("dense", make_skills(1000), encoder, tmp_path)
    encoder.permits.release(3)
    for _ in range(4):
        assert encoder.batches.acquire(timeout=60)
    stopper = threading.Thread(target=made.close)
    stopper.start()
    encoder.permits.release()
    stopper.join(60)
    assert not made.wait_ready(60)
    assert made.search(QUERY).degraded == "encoding stopped at 25%"
    assert len(encoder.encoded) == 256
    again = CountingEncoder()
    assert build_retriever("dense", make_skills(1000), again, tmp_path).wait_ready(60)
    assert len(again.encoded) == 744


def test_a_failure_keeps_what_was_encoded(tmp_path: Path) -> None:
    class Failing(CountingEncoder):
        def encode_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if len(self.encoded) >= 256:
                raise RuntimeError("out of memory")
            return super().encode_documents(texts)

    made = build_retriever("dense", make_skills(1000), Failing(), tmp_path)
    assert not made.wait_ready(60)
    assert made.search(QUERY).degraded == "encoding failed: RuntimeError"
    assert made.progress.failure == "out of memory"
    again = CountingEncoder()
    assert build_retriever("dense", make_skills(1000), again, tmp_path).wait_ready(60)
    assert len(again.encoded) == 744


class Server(CountingEncoder):
    """An encoder that is somewhere else, and is not always there."""

    def __init__(self) -> None:
        super().__init__()
        self.down = True

    def encode_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("no route")
        return super().encode_documents(texts)

    def encode_queries(self, texts: Sequence[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("no route")
        return super().encode_queries(texts)


@pytest.mark.parametrize("count", [40, 1000])
def test_what_failed_is_tried_again(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    made = build_retriever("skillsight", make_skills(count), server)
    assert not made.wait_ready(60)
    answer = made.search(QUERY)
    assert answer.degraded == "encoding failed: ConnectionError"
    assert answer.hits
    server.down = False
    assert made.search(QUERY).degraded == "encoding failed: ConnectionError"  # not again at once
    monkeypatch.setattr(batched_work, "RETRY_S", 0.0)
    made.search(QUERY)
    assert made.wait_ready(60)
    assert made.search(QUERY).degraded is None


def test_a_query_that_cannot_be_encoded_has_a_lexical_answer() -> None:
    server = Server()
    server.down = False
    made = build_retriever("skillsight", make_skills(40), server)
    whole = made.search(QUERY)
    server.down = True
    assert replace(made.search(QUERY), elapsed_s=0.0) == replace(
        whole, elapsed_s=0.0
    )  # it is known
    other = made.search(Query("another question"))
    assert other.degraded == "encoding the query failed: ConnectionError"
    server.down = False
    assert made.search(Query("another question")).degraded is None


class Nonsense(CountingEncoder):
    """Gives something else than vectors."""

    def __init__(self, spoil: Callable[[list[list[float]]], Any]) -> None:
        super().__init__()
        self.spoil = spoil

    def encode_documents(self, texts: Sequence[str]) -> Any:
        return self.spoil(super().encode_documents(texts))


SPOILT: dict[str, Callable[[list[list[float]]], Any]] = {
    "too few": lambda rows: rows[1:],
    "none": lambda rows: None,
    "not a number": lambda rows: [[math.nan] * len(row) for row in rows],
    "too long": lambda rows: [[1e19] * len(row) for row in rows],
    "another length": lambda rows: [row[1:] for row in rows],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("count", [5, 1000])
def test_nonsense_costs_the_meaning_of_an_answer_and_is_raised_for_who_waits(
    spoil: Callable[[list[list[float]]], Any], count: int
) -> None:
    made = build_retriever("skillsight", make_skills(count), Nonsense(spoil))
    with pytest.raises(ConfigurationError, match="The encoder gave"):
        made.wait_ready(60)
    answer = made.search(QUERY)
    assert answer.degraded == "encoding failed: ConfigurationError"
    assert answer.hits


@pytest.mark.parametrize("dim", [0, -3, "26", None])
def test_a_dim_that_is_none_is_a_mistake(dim: Any) -> None:
    encoder = CountingEncoder()
    encoder.dim = dim
    made = build_retriever("dense", make_skills(5), encoder)
    with pytest.raises(ConfigurationError, match="dim"):
        made.wait_ready(60)


def test_a_slow_encoder_is_waited_for_no_longer_than_it_says() -> None:
    encoder = GatedEncoder()
    made = build_retriever("dense", make_skills(5), encoder, inline_ms=1)
    assert made.search(QUERY).degraded == "encoding, 0% done"
    encoder.permits.release(9)
    assert made.wait_ready(60)
    assert made.search(QUERY).degraded is None


def test_a_thread_that_is_told_to_exit_is_a_failure() -> None:
    class Exits(CountingEncoder):
        def encode_documents(self, texts: Sequence[str]) -> Any:
            raise SystemExit

    made = build_retriever("dense", make_skills(5), Exits())
    assert not made.wait_ready(60)
    assert made.search(QUERY).degraded == "encoding failed: SystemExit"


def test_modes_share_vectors() -> None:
    encoder = CountingEncoder()
    skills = make_skills(100)
    build_retriever("dense", skills, encoder)
    build_retriever("skillsight", skills, encoder)
    assert len(encoder.encoded) == 100


def test_an_edit_while_encoding_does_not_begin_anew() -> None:
    encoder = GatedEncoder()
    first = build_retriever("dense", make_skills(1000), encoder)
    encoder.permits.release(5)
    for _ in range(6):
        assert encoder.batches.acquire(timeout=60)
    second = build_retriever(
        "dense", [*make_skills(1000), *make_skills(1, seed=1)], encoder, previous=first
    )
    encoder.permits.release(1000)
    assert second.wait_ready(60)
    assert first.wait_ready(60)
    assert len(encoder.encoded) == len(set(encoder.encoded)) == 1001
