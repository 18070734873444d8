"""How many tokens a text has, estimated without a tokenizer."""

from __future__ import annotations

import math

__all__ = ["estimate_tokens"]

ASCII_PER_TOKEN = 4.0
"""Characters of English text in one token, the rule of thumb of GPT-style tokenizers."""
OTHER_PER_TOKEN = 1.5
"""Characters outside ASCII in one token."""


def estimate_tokens(text: str) -> int:
    """Estimated number of tokens in `text`, 0 or more; needs no tokenizer."""
    ascii_chars = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_chars / ASCII_PER_TOKEN + (len(text) - ascii_chars) / OTHER_PER_TOKEN)
