"""Does a turn ask for work to be done? Told from turns that do and turns that need nothing.

The bundled turns are prototypes. With an encoder, the vector of a turn is compared with theirs. With
and without one, its words are: a naive Bayes classifier (multinomial, add-one smoothing) over words
and pairs of words. Function words tell the most, which is why none is left out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from skillcue.push.cues import prose

__all__ = [
    "TurnRegression",
    "TurnTypes",
    "VectorTurnType",
    "WordTurnType",
    "bundled_turns",
    "word_turn_type",
]

KERNEL = 4.0
"""How fast a bundled turn loses its say with distance."""

RIDGE = 0.5
"""How little a single bundled turn is trusted."""

MOST_TOKENS = 40
"""Words of a turn that are looked at: what a long one wants stands at its ends."""

_TOKEN = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W\d_]+(?:'[^\W\d_]+)?|\d+|\?")


@cache
def bundled_turns(name: str) -> tuple[str, ...]:
    """Turns that come with the package.

    Args:
        name: ``needs_nothing`` or ``requests``.
    """
    text = files("skillcue.push").joinpath("turns", f"{name}.txt").read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


class TurnRegression:
    """Tells vectors of requests from those of turns that need nothing: kernel ridge regression.

    Requests are worth 1 and the others -1, both kinds weigh the same, and the kernel is
    ``exp(KERNEL * (cosine - 1))``.

    Args:
        requests: Vectors of the bundled requests, a row each, of length 1.
        others: Vectors of the bundled turns that need nothing.
    """

    def __init__(self, requests: Any, others: Any) -> None:
        import numpy as np  # only where there is an encoder

        self._known = np.concatenate([requests, others]).astype(np.float64)
        values = np.repeat([1.0, -1.0], [len(requests), len(others)])
        counts = np.repeat([len(requests), len(others)], [len(requests), len(others)])
        system = np.exp(KERNEL * (self._known @ self._known.T - 1.0))
        system += np.diag(RIDGE * 2.0 * counts / len(counts))
        inverse = np.linalg.inv(system)
        self._weights = inverse @ values
        # What the regression would say of each of the others if it had not been among them.
        left_out = values - self._weights / np.diag(inverse)
        self._left_out = left_out[len(requests) :]

    def value(self, vector: Any) -> float:
        """About 1 for a request, -1 for the others.

        Args:
            vector: Of a turn, of length 1.
        """
        import numpy as np

        near = np.exp(KERNEL * (self._known @ vector - 1.0))
        return round(float(near @ self._weights), 9)  # BLAS adds up by the number of its threads

    def left_out(self, number: int) -> float:
        """The value of a bundled turn that needs nothing, told from the other bundled ones."""
        return round(float(self._left_out[number]), 9)


@dataclass(frozen=True, slots=True)
class VectorTurnType:
    """Compares vectors of turns with those of the bundled ones.

    Attributes:
        encode: Text to its vector, of length 1.
        regression: Made of the bundled turns, by the same encoder.
    """

    encode: Callable[[str], Any]
    regression: TurnRegression

    def __call__(self, text: str, left_out: int | None = None) -> float:
        """How much like a request `text` is: about 1 for a request, -1 for the others.

        Args:
            text: A user message.
            left_out: It is this one of the turns that need nothing, which is not compared.
        """
        if left_out is not None:
            return self.regression.left_out(left_out)
        return self.regression.value(self.encode(prose(text)))


class WordTurnType:
    """Compares the words of turns with those of the bundled ones."""

    def __init__(self) -> None:
        self._requests = _counts(bundled_turns("requests"))
        self._others = _counts(bundled_turns("needs_nothing"))
        self._known = len(self._requests | self._others)

    def __call__(self, text: str, left_out: int | None = None) -> float:
        """Log-odds of being a request, a word.

        Args:
            text: A user message.
            left_out: It is this one of the turns that need nothing, which is not counted.
        """
        others = self._others
        if left_out is not None:
            others = others - _counts([bundled_turns("needs_nothing")[left_out]])
        features = _features(text)
        if not features:
            return 0.0
        request_total = self._requests.total() + self._known
        other_total = others.total() + self._known
        odds = sum(
            math.log((self._requests[f] + 1) / request_total)
            - math.log((others[f] + 1) / other_total)
            for f in features
        )
        return odds / len(features)


@dataclass(frozen=True, slots=True)
class TurnTypes:
    """Features of what kind of turn a text is.

    Attributes:
        vectors: Compares vectors; None without an encoder.
    """

    vectors: VectorTurnType | None = None

    def __call__(self, text: str, left_out: int | None = None) -> Mapping[str, float]:
        """``wording`` by words, and ``asks`` by vectors where there is an encoder.

        Args:
            text: A user message.
            left_out: It is this one of the turns that need nothing, which is not compared.
        """
        found = {"wording": word_turn_type()(text, left_out)}
        if self.vectors is not None:
            found["asks"] = self.vectors(text, left_out)
        return found


@cache
def word_turn_type() -> WordTurnType:
    """The one classifier by words; it depends on the bundled turns alone."""
    return WordTurnType()


def _counts(texts: Sequence[str]) -> Counter[str]:
    return Counter(feature for text in texts for feature in _features(text))


def _features(text: str) -> list[str]:
    """Words and pairs of words; digits are one word."""
    words = ["<n>" if w.isdigit() else w for w in _TOKEN.findall(prose(text).casefold())]
    if len(words) > MOST_TOKENS:
        words = words[: MOST_TOKENS // 2] + words[-(MOST_TOKENS // 2) :]
    words = ["<s>", *words, "</s>"]
    return words[1:-1] + [f"{a} {b}" for a, b in itertools.pairwise(words)]
