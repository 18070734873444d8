"""Text to token ids, with a bound on what is read of a long text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillcue_adapters.encoders.rows import encodable
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CHARS_PER_TOKEN", "Pieces", "Tokens", "read_tokenizer"]

CHARS_PER_TOKEN = 40
"""Characters that are read for every token a model takes; English has 4 to 5 of them, so nothing
but blanks and blobs is lost, and the time for a text has a bound however long it is."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tokens of one text.

    Attributes:
        ids: Token ids, at most the limit; empty where the text holds no token of its own.
        cut: The text has more than that.
    """

    ids: list[int]
    cut: bool


class Tokens:
    """A ``tokenizer.json`` without padding. Safe to share between threads.

    Args:
        path: The file.
        max_tokens: Most tokens of one text, special ones included.
        special: Put the model's special tokens around the text.

    Raises:
        ConfigurationError: The file cannot be read.
    """

    def __init__(self, path: Path, max_tokens: int, *, special: bool) -> None:
        self._tokenizer = read_tokenizer(path)
        self._tokenizer.no_padding()  # vectors must not depend on the texts around
        self._tokenizer.enable_truncation(max_tokens)
        self._max_chars = max_tokens * CHARS_PER_TOKEN
        self._special = special

    def split(self, text: str, prompt: str = "") -> Pieces:
        """Tokens of `prompt` and `text` together; none for a text that is blank."""
        head = encodable(text[: self._max_chars])
        if not head.strip():
            return Pieces([], cut=len(text) > self._max_chars)
        encoding = self._tokenizer.encode(prompt + head, add_special_tokens=self._special)
        empty = all(encoding.special_tokens_mask)
        cut = bool(encoding.overflowing) or len(text) > self._max_chars
        return Pieces([] if empty else encoding.ids, cut=cut)


def read_tokenizer(path: Path) -> Tokenizer:
    """What a ``tokenizer.json`` holds.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception, whatever is wrong
        raise ConfigurationError(
            f"Tokenizer {path} cannot be read: {error}.", "It must be a tokenizer.json file."
        ) from error
