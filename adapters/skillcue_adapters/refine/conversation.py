"""What was said between the sub-agent's model and its commands, and how it is made shorter.

All of it is sent with every request. Results of earlier searches can lose their descriptions, and
where that is not enough every long answer loses its end, so that the skills can still be handed in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from skillcue_adapters.refine.commands import Answer
from skillcue_adapters.refine.protocol import Call
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.language import ChatMessage, Completion

__all__ = ["Conversation"]

CUT = "\n(the rest was taken out: there is no room for it)"

NOTHING = "(nothing)"
"""Stands for an empty answer: services refuse messages without a text."""


@dataclass(slots=True)
class _Said:
    """A message whose texts may be made shorter; a brief is a shorter form of its text, or empty.

    The note stands below them and stays: what it tells the model to do must not be cut off.
    """

    message: ChatMessage
    texts: list[str]
    briefs: list[str]
    note: str = ""

    @property
    def text(self) -> str:
        shown = "\n\n".join(self.texts)
        return "\n".join(filter(None, (shown, self.note)))


class Conversation:
    """Messages in their order.

    Args:
        opening: What it begins with; never made shorter.
    """

    def __init__(self, opening: Sequence[ChatMessage]) -> None:
        self._said = [_Said(message, [message.text], [""]) for message in opening]
        self._fixed = len(opening)

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """All messages as they are sent next."""
        return tuple(
            ChatMessage(
                said.message.role,
                said.text,
                said.message.tool_calls,
                said.message.tool_call_id,
            )
            for said in self._said
        )

    def hear(self, answer: Completion) -> None:
        """Add what the model said."""
        text = answer.text or ("" if answer.tool_calls else NOTHING)
        self._add(ChatMessage("assistant", text, answer.tool_calls), [Answer(text)])

    def tell(self, text: str, note: str) -> None:
        """Add a message of the user, with a note below that is never cut."""
        self._add(ChatMessage("user", text), [Answer(text)], note)

    def answer(self, calls: Sequence[Call], answers: Sequence[Answer], note: str) -> None:
        """Add what the calls gave: tool calls are answered one by one, JSON commands together.

        Args:
            calls: In their order.
            answers: One to each.
            note: Stands below the last answer and is never cut.
        """
        if not calls[0].id:
            self._add(ChatMessage("user", ""), answers, note)
            return
        for place, (call, found) in enumerate(zip(calls, answers, strict=True), 1):
            below = note if place == len(calls) else ""
            self._add(ChatMessage("tool", "", tool_call_id=call.id), [found], below)

    def shorten_lists(self) -> bool:
        """Put the short form in the place of results; whether there were any."""
        found = False
        for said in self._said:
            for place, brief in enumerate(said.briefs):
                if brief:
                    said.texts[place], said.briefs[place], found = brief, "", True
        return found

    def cut(self, tokens: int) -> None:
        """Take about `tokens` tokens from the ends of the longest answers, as far as they go."""
        places = [
            (said, place)
            for said in self._said[self._fixed :]
            if said.message.role != "assistant"
            for place in range(len(said.texts))
        ]
        sizes = [estimate_tokens(said.texts[place]) for said, place in places]
        kept = _level(sizes, sum(sizes) - tokens)
        for (said, place), size in zip(places, sizes, strict=True):
            if size > kept:
                said.texts[place] = _beginning(said.texts[place], kept)

    def _add(self, message: ChatMessage, parts: Sequence[Answer], note: str = "") -> None:
        texts, briefs = [part.text for part in parts], [part.brief for part in parts]
        self._said.append(_Said(message, texts, briefs, note))


def _level(sizes: Sequence[int], total: int) -> int:
    """The largest size to which all larger ones are reduced, so that the sum is at most `total`."""
    left, many = total, len(sizes)
    for size in sorted(sizes):
        if size * many > left:
            return max(left // many, 0)
        left, many = left - size, many - 1
    return max(sizes, default=0)


def _beginning(text: str, tokens: int) -> str:
    """The beginning of `text`, at most `tokens` tokens with the note that it was cut."""
    room = tokens - estimate_tokens(CUT)
    end = bisect_right(range(1, len(text)), room, key=lambda n: estimate_tokens(text[:n]))
    return text[:end] + CUT if room > 0 else CUT.strip()
