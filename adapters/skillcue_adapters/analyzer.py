"""From text to index terms: the one analyzer that every lexical part shares.

Unicode NFKC (which folds widths and ligatures), case folding, words split at everything that is
neither letter nor digit, stop words, Snowball English stems. Scripts that are written
without spaces become character bigrams, and a run of one character stays that character.
Identifiers such as ``getUserName`` give the whole and its parts, as do words that end in digits
(``python3``); a name of two parts such as ``PyTorch`` stays whole, because counting its parts as
well would weigh one name three times. ``c++``, ``c#``, ``f#`` and ``.net`` become the spellings
that skill names, which have no signs, use for them.
"""

from __future__ import annotations

import importlib.metadata
import re
import threading
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer

from skillcue_adapters.stop_words import STOP_WORDS
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["ANALYZER", "MAX_TOKEN_CHARS", "Analyzer"]

MAX_TOKEN_CHARS = 64
"""Longer words are cut to this many characters: nobody types them, pasted blobs are full of
them."""

MEMO_TOKENS = 32_768
"""Tokens whose terms are remembered."""

MEMO_STEMS = 65_536
"""Words whose stems are remembered: the stemmer is pure Python and most of the cost."""

_APOSTROPHE = "\u2019"  # what word processors make of '
_SIGNED = {"c++": "cpp", "c#": "csharp", "f#": "fsharp"}
_ELIDED = frozenset({"d", "ll", "m", "re", "s", "t", "ve"})

# Kana without the middle dot and the double hyphen, but with the long-vowel mark, which is a
# letter; then bopomofo, Han, Hangul, Thai, Lao, Burmese and Khmer.
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u1049"
    "\u1780-\u17d3"
)
# Vowel signs and accents that \w leaves out although they stand inside words.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0dff"

_TOKEN = re.compile(rf"[\w{_MARKS}{_UNSPACED}]+(?:['{_APOSTROPHE}]\w+|\+\+|#)?")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_ACRONYM_PLURAL = re.compile(r"[bcdfghjklmnpqrstvwxz]{3,}s")  # Snowball leaves "pdfs" alone
_NUMBERED = re.compile(r"([a-z]{3,})\d+")
_DOTNET = re.compile(r"(?<!\w)\.net\b", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]+")

_stemmer = EnglishStemmer()
_stemmer_lock = threading.Lock()  # a Snowball stemmer keeps the word it works on in itself


@dataclass(frozen=True, slots=True)
class Analyzer:
    """Text to terms. Stateless but for a memo; safe to call from several threads.

    Attributes:
        fingerprint: Identity of everything that changes a term, the versions of the stemmer and
            of the Unicode tables included (hex).
    """

    fingerprint: str

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in reading order, repeats included."""
        return [term for raw in _tokens(text) for term in _terms_of(raw)]

    def counts(self, text: str) -> dict[str, int]:
        """How often each term occurs: ``Counter(terms(text))``, several times as fast."""
        counts: dict[str, int] = {}
        for raw, count in Counter(_tokens(text)).items():
            for term in _terms_of(raw):
                counts[term] = counts.get(term, 0) + count
        return counts


def _tokens(text: str) -> list[str]:
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    if ".net" in text or ".NET" in text or ".Net" in text:
        text = _DOTNET.sub(" dotnet", text)
    return _TOKEN.findall(text)


def _terms_of(raw: str) -> tuple[str, ...]:
    # Long runs hardly ever come twice; remembering them would only push out words.
    return _remembered(raw) if len(raw) <= MAX_TOKEN_CHARS else _analyze(raw)


def _analyze(raw: str) -> tuple[str, ...]:
    """Terms of one token: what `_TOKEN` found."""
    if raw.isascii() and raw.isalnum():  # nearly all tokens; the rest below gives the same
        return tuple(_word(raw))
    folded = raw.casefold().replace(_APOSTROPHE, "'")
    if folded in _SIGNED:
        return (_SIGNED[folded],)
    if folded in STOP_WORDS:
        return ()
    pieces = raw.rstrip("+#").replace(_APOSTROPHE, "'").split("'")
    if len(pieces) > 1 and pieces[-1].casefold() in _ELIDED:
        pieces.pop()
    terms: list[str] = []
    for piece in pieces:
        for run in _RUN.findall(piece):
            terms += _bigrams(run) if _UNSPACED_RUN.match(run) else _word(run)
    return tuple(terms)


_remembered = lru_cache(maxsize=MEMO_TOKENS)(_analyze)


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _word(word: str) -> list[str]:
    word = word[:MAX_TOKEN_CHARS]
    folded = word.casefold()
    if folded.isalpha() and word.islower():
        return [] if folded in STOP_WORDS else [_stem(folded)]
    forms = [folded, *_identifier_parts(word)]
    if numbered := _NUMBERED.fullmatch(folded):
        forms.append(numbered[1])
    return [_stem(form) for form in forms if form not in STOP_WORDS]


def _identifier_parts(word: str) -> list[str]:
    """Parts of a camelCase identifier; none for plain words and for names of two parts."""
    if word.islower() or word.isupper() or not word.isascii():
        return []
    parts = _PARTS.findall(word)
    if len(parts) < 2 or (len(parts) == 2 and word[0].isupper()):
        return []
    return [part.casefold() for part in parts if len(part) > 1]


@lru_cache(maxsize=MEMO_STEMS)
def _stem(word: str) -> str:
    if not word.isalpha():  # versions and part numbers have no grammar
        return word
    if _ACRONYM_PLURAL.fullmatch(word):
        return word[:-1]
    with _stemmer_lock:
        stem: str = _stemmer.stemWord(word)
    return stem


ANALYZER = Analyzer(
    fingerprint(
        "analyzer",
        1,
        sorted(STOP_WORDS),
        MAX_TOKEN_CHARS,
        importlib.metadata.version("snowballstemmer"),
        unicodedata.unidata_version,
    )
)
"""The analyzer of index and query alike."""
