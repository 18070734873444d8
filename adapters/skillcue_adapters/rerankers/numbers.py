"""What a model gave, as a list of scores."""

from __future__ import annotations

import math
from collections.abc import Iterable

from skillcue_hooks.errors import ConfigurationError

__all__ = ["checked_scores"]


def checked_scores(found: Iterable[float], count: int, scorer: str) -> list[float]:
    """`found` as `count` finite floats.

    Args:
        found: One number a text.
        count: Texts that were scored.
        scorer: Its name, for messages.

    Raises:
        ConfigurationError: There are more or fewer, or one is NaN or infinite.
        TypeError: Something in it is no number.
    """
    scores = [float(score) for score in found]
    if len(scores) != count:
        raise ConfigurationError(
            f"{scorer} gave {len(scores)} scores for {count} texts.",
            "It must give one number a text, in their order.",
        )
    if not all(map(math.isfinite, scores)):
        raise ConfigurationError(
            f"{scorer} gave a score that is NaN or infinite.", "Its model may be damaged."
        )
    return scores
