"""Where advice goes: inside the user message it belongs to, in a copy of the request.

A message of its own next to the user's breaks chat templates that insist on alternating roles,
a changing system prompt breaks prompt caching, and anything behind a tool call breaks the pairing
of calls and results. Appending to the user's own message breaks none of them: text stays text, a
list of blocks gets one more block at its end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from skillcue.push.messages import SEPARATOR, SYSTEM_MADE_KEY, is_advice, strip_advice

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

    A request that holds the advice already, because it was placed before, gets it only once.

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
            placed.append(message if _holds(message, block) else append_text(message, block))
        elif _follows(messages, position, block):
            placed.append(message)
        else:
            placed += [message, own_message(block)]
    return placed


def append_text(message: Any, text: str) -> Any:
    """A copy of `message` (LangChain message or OpenAI-style dict) with `text` at its end.

    Content that is neither text nor a list of blocks has no end: such a message is returned.
    """
    content = _content(message)
    if isinstance(content, str):
        longer: Any = f"{content}{SEPARATOR}{text}" if content else text
    elif content is None or isinstance(content, list | tuple):
        longer = [*(content or ()), {"type": "text", "text": text}]
    else:
        return message
    return _with_content(message, longer)


def remove_advice(messages: Sequence[Any]) -> list[Any]:
    """`messages` (LangChain messages or OpenAI-style dicts) as they were before `place`.

    For nodes that return the whole list they were given: the advice must not reach the state.
    """
    return [_without(message) for message in messages if not _is_own_advice(message)]


def own_advice_message(block: str) -> Any:
    """Advice in a LangChain message of its own, marked as not the user's."""
    from langchain_core.messages import HumanMessage  # only LangChain integrations come here

    return HumanMessage(block, additional_kwargs={"lc_source": ADVICE_SOURCE})


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, Mapping) else message.content


def _with_content(message: Any, content: Any) -> Any:
    if isinstance(message, Mapping):
        return {**message, "content": content}
    return message.model_copy(update={"content": content})


def _holds(message: Any, block: str) -> bool:
    """`block` is among the advice at the end of the message already."""
    content = _content(message)
    if isinstance(content, str):
        return block in content[len(strip_advice(content)) :]
    return isinstance(content, list | tuple) and any(_block_text(b) == block for b in content)


def _without(message: Any) -> Any:
    kind = message.get("role") if isinstance(message, Mapping) else getattr(message, "type", None)
    if kind not in ("human", "user"):
        return message
    content = _content(message)
    if isinstance(content, str):
        shorter: Any = strip_advice(content)
    elif isinstance(content, list | tuple):
        shorter = [block for block in content if not is_advice(_block_text(block))]
    else:
        return message
    return message if len(shorter) == len(content) else _with_content(message, shorter)


def _block_text(block: Any) -> str:
    text = block.get("text") if isinstance(block, Mapping) else None
    return text if isinstance(text, str) else ""


def _follows(messages: Sequence[Any], position: int, block: str) -> bool:
    """`block` is among the messages of ours right behind the user's already."""
    behind = itertools.takewhile(_is_own_advice, messages[position + 1 :])
    return any(_content(message) == block for message in behind)


def _is_own_advice(message: Any) -> bool:
    extra = getattr(message, "additional_kwargs", None)
    return isinstance(extra, Mapping) and extra.get(SYSTEM_MADE_KEY) == ADVICE_SOURCE
