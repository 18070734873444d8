"""Text to terms."""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from skillcue_adapters.analyzer import ANALYZER, MAX_TOKEN_CHARS
from skillcue_adapters.stop_words import STOP_WORDS

terms = ANALYZER.terms

CONSONANTS = "bcdfghjklmnpqrstvwxz"


def test_words_are_folded_stemmed_and_cleared_of_stop_words() -> None:
    assert terms("The INVOICES were reconciled; the reports are Running") == [
        "invoic",
        "reconcil",
        "report",
        "run",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("merge two PDFs", "pdf merging"),
        ("CSV", "csvs"),
        ("Ｐｙｔｈｏｎ", "python"),  # noqa: RUF001  full width on purpose
        ("ｶﾀﾛｸﾞ", "カタログ"),
        ("ﬁles", "file"),
        ("Straße", "STRASSE"),
        ("co\u00adoperate", "cooperate"),
        ("pass\u200bword", "password"),
        ("cafe\u0301", "café"),
        ("user\u2019s guide", "user guide"),
        ("C++", "cpp"),
        ("c#", "CSharp"),
        (".NET", "dotnet"),
        ("data_frame", "data-frame"),
        ("m²", "m2"),
    ],
)
def test_spellings_of_one_thing_meet(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other)), (terms(one), terms(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["getusernam", "user", "name"]),
        ("XMLHttpRequest", ["xmlhttprequest", "xml", "http", "request"]),
        ("PyTorch", ["pytorch"]),
        ("k8s v2 mp4 3d", ["k8s", "v2", "mp4", "3d"]),
        ("python3", ["python3", "python"]),
        ("ASP.NET slideshare.net", ["asp", "net", "slideshar", "net"]),
        ("R and C", ["r", "c"]),
        ("don't won't it's they're", []),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("a+ x#y", ["x", "y"]),
    ],
)
def test_identifiers_signs_and_contractions(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("退款流程", ["退款", "款流", "流程"]),
        ("用Python写", ["用", "python", "写"]),
        ("サーバー設定", ["サー", "ーバ", "バー", "ー設", "設定"]),
        ("データ・ベース", ["デー", "ータ", "ベー", "ース"]),
        ("한국어 검색", ["한국", "국어", "검색"]),
        ("猫", ["猫"]),
        ("แปลภาษา", ["แป", "ปล", "ลภ", "ภา", "าษ", "ษา"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_scripts_without_spaces_become_bigrams(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_part_of_a_cjk_word_is_found() -> None:
    assert set(terms("流程")) <= set(terms("客户退款流程说明"))


@given(st.text(max_size=200))
def test_counts_are_the_counted_terms(text: str) -> None:
    assert ANALYZER.counts(text) == Counter(terms(text))


@given(st.text(max_size=200))
def test_terms_are_bounded_and_never_empty(text: str) -> None:
    # Case folding may lengthen a character to three.
    assert all(0 < len(term) <= 3 * MAX_TOKEN_CHARS for term in terms(text))


@given(st.lists(st.sampled_from(sorted(STOP_WORDS))))
def test_stop_words_vanish_in_any_case(words: list[str]) -> None:
    text = " ".join(words)
    assert terms(text) == terms(text.title()) == terms(text.upper()) == []


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12))
def test_case_does_not_matter_for_plain_words(word: str) -> None:
    assert terms(word) == terms(word.title()) == terms(word.upper())


def test_words_keep_their_snowball_stems() -> None:
    stemmer = EnglishStemmer()
    words = ["generalization", "happily", "skies", "organizer", "running", "agreed", "news"]
    assert terms(" ".join(words)) == [stemmer.stemWord(word) for word in words]


@pytest.mark.parametrize("text", ["x" * 100_000, "aB" * 50_000, "語" * 100_000, "a_" * 50_000])
def test_pasted_blobs_are_cheap(text: str) -> None:
    started = time.perf_counter()
    ANALYZER.counts(text)
    assert time.perf_counter() - started < 1.0


def test_threads_do_not_disturb_each_other() -> None:
    # Words nobody has stemmed yet, and threads that change places inside the stemmer.
    texts = [
        " ".join(f"{a}{b}o{c}ationalizing" for b in "bcdfg" for c in "klmnprst") for a in CONSONANTS
    ]
    stemmer = EnglishStemmer()
    alone = [Counter(stemmer.stemWord(word) for word in text.split()) for text in texts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ANALYZER.counts, texts))
    finally:
        sys.setswitchinterval(interval)
    assert found == alone


def test_function_words_of_other_languages_are_no_terms():
    assert ANALYZER.terms("und das ist nicht für uns") == []
    assert ANALYZER.terms("avec les mots que vous") == ["mot"]


def test_words_that_stand_for_things_stay():
    """In other languages these are function words; in skills they are names."""
    assert ANALYZER.terms("DEM bin MIT DES ES NA chi") == [
        "dem",
        "bin",
        "mit",
        "des",
        "es",
        "na",
        "chi",
    ]
