"""Analysed terms in files: a warm start analyses nothing and ranks alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.index_libraries import CountingEncoder, build_retriever, make_skills

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.index import term_files
from skillcue_adapters.index.keys import content_keys
from skillcue_adapters.index.term_files import TermFiles
from skillcue_adapters.terms import TermRows, Vocabulary
from skillcue_hooks.contracts import Query

TEXTS = [f"text number {n} about 退款 and naïve pdfs" for n in range(50)] + ["", "!?"]


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that the analyzer was given."""
    seen: list[str] = []
    real = ANALYZER.counts
    monkeypatch.setattr(
        type(ANALYZER), "counts", lambda self, text: seen.append(text) or real(text)
    )
    return seen


def read(folder: Path, texts: list[str]) -> list[dict[str, int]]:
    vocabulary = Vocabulary(["some", "other", "terms"])
    keys = content_keys(ANALYZER.fingerprint, texts)
    return plain(TermFiles(folder).read(keys, texts.__getitem__, vocabulary), vocabulary)


def plain(rows: TermRows, vocabulary: Vocabulary) -> list[dict[str, int]]:
    found = []
    for start, end in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        terms = map(vocabulary.term, rows.columns[start:end].tolist())
        found.append(dict(zip(terms, rows.counts[start:end].tolist(), strict=True)))
    return found


def test_terms_come_back_without_analysis(tmp_path: Path, analysed: list[str]) -> None:
    expected = [ANALYZER.counts(text) for text in TEXTS]
    assert read(tmp_path, TEXTS) == expected
    analysed.clear()
    assert read(tmp_path, TEXTS[::-1]) == expected[::-1]
    assert read(tmp_path, TEXTS[7:9]) == expected[7:9]
    assert analysed == []
    assert read(tmp_path, ["fresh", *TEXTS[:2]]) == [{"fresh": 1}, *expected[:2]]
    assert analysed == ["fresh"]


def test_many_small_files_are_merged(tmp_path: Path, analysed: list[str]) -> None:
    for text in TEXTS:
        read(tmp_path, [text])
    assert len(list(tmp_path.rglob("*.skcue"))) <= 10
    analysed.clear()
    assert read(tmp_path, TEXTS) == [ANALYZER.counts(text) for text in TEXTS]
    assert len(analysed) == len(TEXTS)  # by the line above


def test_a_killed_process_loses_one_batch(
    tmp_path: Path, analysed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_files, "BATCH_TEXTS", 10)
    real = term_files.analysed

    def killed(texts: list[str], vocabulary: Vocabulary) -> TermRows:
        if len(analysed) >= 30:
            raise KeyboardInterrupt
        return real(texts, vocabulary)

    monkeypatch.setattr(term_files, "analysed", killed)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, TEXTS)
    monkeypatch.setattr(term_files, "analysed", real)
    analysed.clear()
    read(tmp_path, TEXTS)
    assert analysed == TEXTS[30:]


def test_rows_that_point_outside_are_damage(tmp_path: Path, analysed: list[str]) -> None:
    """A file whose checksums are right and whose numbers are not."""
    files = TermFiles(tmp_path)
    keys = content_keys(ANALYZER.fingerprint, TEXTS)
    rows = TermRows(
        np.arange(len(TEXTS) + 1, dtype=np.int64),
        np.full(len(TEXTS), 9, dtype=np.int32),
        np.ones(len(TEXTS), dtype=np.int32),
    )
    files._folder.add(term_files._arrays(keys, rows, Vocabulary(["a"])))
    assert read(tmp_path, TEXTS) == [ANALYZER.counts(text) for text in TEXTS]


def test_another_analyzer_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read(tmp_path, TEXTS)
    other = type(ANALYZER)("another fingerprint")
    monkeypatch.setattr(term_files, "ANALYZER", other)
    assert TermFiles(tmp_path)._folder.segments() == []


def test_a_warm_start_analyses_nothing_and_ranks_alike(tmp_path: Path, analysed: list[str]) -> None:
    skills = make_skills(600, bodies=True)
    query = Query("merge pdf form", k=600)
    cold = build_retriever("bm25", skills, CountingEncoder(), tmp_path).search(query)
    analysed.clear()
    warm = build_retriever("bm25", skills, CountingEncoder(), tmp_path).search(query)
    assert analysed == [query.text]
    assert warm.hits == cold.hits
