"""Every limit of push, by name and with its unit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from skillcue.push.budget import TokenCounter, estimate_tokens
from skillcue.push.gate import GateSettings
from skillcue.push.judge import JudgeSettings
from skillcue.push.query import CONTEXT_TOKENS, DEPTH, QUERY_TOKENS
from skillcue_hooks.errors import ConfigurationError

__all__ = ["MAX_K", "PushSettings"]

MAX_K = 10
"""Most skills that one turn's advice can name."""


@dataclass(frozen=True, slots=True)
class PushSettings:
    """How the advisor works.

    Attributes:
        k: Offer at most this many skills a turn, 1 to 10.
        depth: Candidates looked at a turn, `k` or more.
        tokens_per_turn: Size of one turn's advice, tokens.
        tokens_replayed: Size of all advice in one request together, tokens.
        load_tokens: Where exactly one skill stands out, its whole body is given at once if it takes
            at most this many tokens; 0 never does.
        query_tokens: Longer user messages are searched by their beginning and end, tokens.
        context_tokens: Earlier user messages that a turn is read with, tokens; 0 reads it alone.
        history_turns: Without a record, the advice of this many earlier turns is worked out again.
        memo_turns: Decisions kept in memory, turns over all threads.
        gate: How readily push speaks.
        judge: Ask a language model about turns that the gate is not sure of; None asks none.
        count_tokens: Counts the tokens of a text; the default estimates without a tokenizer.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of range.
    """

    k: int = 3
    depth: int = DEPTH
    tokens_per_turn: int = 400
    tokens_replayed: int = 1600
    load_tokens: int = 0
    query_tokens: int = QUERY_TOKENS
    context_tokens: int = CONTEXT_TOKENS
    history_turns: int = 20
    memo_turns: int = 4_096
    gate: GateSettings = field(default_factory=GateSettings)
    judge: JudgeSettings | None = None
    count_tokens: TokenCounter = estimate_tokens

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.type == "int":
                _check_whole(item.name, getattr(self, item.name))
        if not isinstance(self.gate, GateSettings):
            raise ConfigurationError(
                f"Push setting gate is a {type(self.gate).__name__}.", "Pass GateSettings(...)."
            )
        if not isinstance(self.judge, JudgeSettings | None):
            raise ConfigurationError(
                f"Push setting judge is a {type(self.judge).__name__}.", "Pass JudgeSettings(...)."
            )
        if not callable(self.count_tokens):
            raise ConfigurationError(
                f"Push setting count_tokens is a {type(self.count_tokens).__name__}.",
                "Pass a function that takes a text and gives a whole number.",
            )
        _check_counter(self.count_tokens)
        if self.k > MAX_K:
            raise ConfigurationError(
                f"Push setting k is {self.k}.", f"Use 1 to {MAX_K}; more than three rarely helps."
            )
        if self.depth < self.k:
            raise ConfigurationError(
                f"Push setting depth is {self.depth}, below k = {self.k}.", "Use k or more."
            )


def _check_counter(count_tokens: TokenCounter) -> None:
    """Try it once: what it gives for a word it gives for advice."""
    try:
        found: object = count_tokens("advice")
    except Exception as error:  # noqa: BLE001  # a function of the user may raise anything
        found = error
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ConfigurationError(
            f"Push setting count_tokens gave {found!r} for a word.",
            "Let it give a whole number from 0.",
        )


def _check_whole(name: str, value: object) -> None:
    least = 0 if name in ("context_tokens", "load_tokens") else 1
    if not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"Push setting {name} is {value!r}.", f"Use a whole number from {least}."
        )
