"""Every limit of push, by name and with its unit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from skillcue.push.budget import TokenCounter, estimate_tokens
from skillcue.push.gate import GateSettings
from skillcue_hooks.errors import ConfigurationError

__all__ = ["PushSettings"]


@dataclass(frozen=True, slots=True)
class PushSettings:
    """How the advisor works.

    Attributes:
        k: Offer at most this many skills a turn, 1 to 10.
        depth: Candidates looked at a turn, `k` or more.
        tokens_per_turn: Size of one turn's advice, tokens.
        tokens_replayed: Size of all advice in one request together, tokens.
        query_chars: Longer user messages are searched by their beginning and end, characters.
        context_chars: Earlier conversation given to the retriever as second view, characters.
        history_turns: Without a record, the advice of this many earlier turns is worked out again.
        memo_turns: Decisions kept in memory, turns over all threads.
        gate: Thresholds of the gate.
        count_tokens: Counts the tokens of a text; the default estimates without a tokenizer.
    """

    k: int = 3
    depth: int = 10
    tokens_per_turn: int = 400
    tokens_replayed: int = 1600
    query_chars: int = 8_000
    context_chars: int = 1_200
    history_turns: int = 20
    memo_turns: int = 4_096
    gate: GateSettings = field(default_factory=GateSettings)
    count_tokens: TokenCounter = estimate_tokens

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, int) and value < (0 if item.name == "context_chars" else 1):
                raise ConfigurationError(f"Push setting {item.name} is {value}.", "Use 1 or more.")
        if not self.k <= 10:
            raise ConfigurationError(
                f"Push setting k is {self.k}.", "Use 1 to 10; more than three rarely helps."
            )
        if self.depth < self.k:
            raise ConfigurationError(
                f"Push setting depth is {self.depth}, below k = {self.k}.", "Use k or more."
            )
