"""Where advice goes: inside the user message it belongs to, in a copy of the request.

A message of its own next to the user's breaks chat templates that insist on alternating roles,
a changing system prompt breaks prompt caching, and anything behind a tool call breaks the pairing
of calls and results. Appending to the user's own message breaks none of them: text stays text, a
list of blocks gets one more block at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN, strip_advice

__all__ = [
    "ADVICE_SOURCE",
    "Placement",
    "append_text",
    "own_advice_message",
    "place",
    "remove_advice",
]

Placement = Literal["inline", "own_message"]

ADVICE_SOURCE = "skill_advice"
"""``additional_kwargs["lc_source"]`` of advice in a message of its own."""


def place(
    messages: Sequence[Any],
    placements: Sequence[tuple[int, str]],
    own_message: Callable[[str], Any] | None = None,
) -> list[Any]:
    """A new list with the advice in it; `messages` and its items are not changed.

    Args:
        messages: The request.
        placements: ``(position, block)`` of each user message that gets advice.
        own_message: Makes a message from a block; then advice stands behind the user message
            instead of inside it.
    """
    blocks = dict(placements)
    placed: list[Any] = []
    for position, message in enumerate(messages):
        block = blocks.get(position)
        if block is None:
            placed.append(message)
        elif own_message is None:
            placed.append(append_text(message, block))
        else:
            placed += [message, own_message(block)]
    return placed


def append_text(message: Any, text: str) -> Any:
    """A copy of `message` (LangChain message or OpenAI-style dict) with `text` at its end."""
    is_dict = isinstance(message, Mapping)
    content = message.get("content") if is_dict else message.content
    if isinstance(content, str):
        longer: Any = f"{content}\n\n{text}" if content else text
    else:
        longer = [*(content or ()), {"type": "text", "text": text}]
    if is_dict:
        return {**message, "content": longer}
    return message.model_copy(update={"content": longer})


def remove_advice(messages: Sequence[Any]) -> list[Any]:
    """`messages` (LangChain messages) as they were before `place`.

    For nodes that return the whole list they were given: the advice must not reach the state.
    """
    return [_without(message) for message in messages if not _is_own_advice(message)]


def own_advice_message(block: str) -> Any:
    """Advice in a LangChain message of its own, marked as not the user's."""
    from langchain_core.messages import HumanMessage  # only LangChain integrations come here

    return HumanMessage(block, additional_kwargs={"lc_source": ADVICE_SOURCE})


def _without(message: Any) -> Any:
    if getattr(message, "type", None) != "human":
        return message
    content = message.content
    if isinstance(content, str):
        shorter: Any = strip_advice(content)
    else:
        shorter = [block for block in content if not _is_advice_block(block)]
    return message if shorter == content else message.model_copy(update={"content": shorter})


def _is_advice_block(block: Any) -> bool:
    text = block.get("text") if isinstance(block, Mapping) else None
    return (
        isinstance(text, str)
        and text.startswith(f"{ADVICE_OPEN}\n")
        and text.endswith(f"\n{ADVICE_CLOSE}")
    )


def _is_own_advice(message: Any) -> bool:
    extra = getattr(message, "additional_kwargs", None)
    return isinstance(extra, Mapping) and extra.get("lc_source") == ADVICE_SOURCE
