"""LlamaIndex requests: what the user wrote in them, and advice put into a copy.

LlamaIndex rewrites user messages on their way to the model (state prompts, memory blocks) and
puts messages of its own in user position (retries, results of executed code). Advice must depend
on none of that: the same conversation gives the same decision, in any process.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.prompts import BasePromptTemplate

from skillcue.nudges import system_nudge, user_nudge
from skillcue.push.messages import SEPARATOR, SYSTEM_MADE_KEY, is_advice

__all__ = ["RequestView", "add_nudges", "append_text", "place_advice", "read_request"]

CODE_RESULT = "Result of executing the code given:\n\n"
"""How `CodeActAgent` begins a user message with the output of a program."""

_STATE, _MESSAGE = "\x00state\x00", "\x00message\x00"


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as push reads it.

    Attributes:
        messages: The messages without system messages, which differ between the agents of a
            workflow; user messages as the user wrote them.
        positions: Index of each of them in the request.
    """

    messages: tuple[Any, ...]
    positions: tuple[int, ...]


def read_request(
    request: Sequence[ChatMessage], user_text: str | None, state_prompt: BasePromptTemplate | None
) -> RequestView:
    """What the user wrote in `request`, and which user messages are LlamaIndex's own.

    Args:
        request: The input of one agent step; not changed.
        user_text: The newest user message as the user wrote it, None where it is not known.
        state_prompt: The template that LlamaIndex may have wrapped around a user message.
    """
    unwrap = _unwrapper(state_prompt)
    texts = {i: _written(m, unwrap) for i, m in enumerate(request) if m.role == MessageRole.USER}
    real = [i for i, text in texts.items() if not text.startswith(CODE_RESULT)]
    newest = _newest(request, texts, real, user_text)
    if newest is not None and user_text is not None and user_text in texts[newest]:
        texts[newest] = user_text
    messages: list[Any] = []
    positions = [i for i, m in enumerate(request) if m.role != MessageRole.SYSTEM]
    for i in positions:
        if i not in texts:
            messages.append(request[i])
            continue
        made = request[i].additional_kwargs.get(SYSTEM_MADE_KEY)
        if i not in real or (newest is not None and i > newest):
            made = "llama_index"
        extra = {SYSTEM_MADE_KEY: made} if made else {}
        messages.append({"role": "user", "content": texts[i], "additional_kwargs": extra})
    return RequestView(tuple(messages), tuple(positions))


def place_advice(
    request: Sequence[ChatMessage],
    view: RequestView,
    placements: Sequence[tuple[int, str]],
    own_message: bool,
) -> list[ChatMessage]:
    """A new request with the advice in it; the messages of `request` are not changed.

    Args:
        request: The request that `view` was read from.
        view: Maps the positions of `placements` to those of the request.
        placements: ``(position in the view, block)``.
        own_message: Put the advice behind the user message instead of inside it.
    """
    blocks = {view.positions[position]: block for position, block in placements}
    placed: list[ChatMessage] = []
    for position, message in enumerate(request):
        block = blocks.get(position)
        if block is None:
            placed.append(message)
        elif own_message:
            placed += [message, ChatMessage(role=MessageRole.USER, content=block)]
        else:
            placed.append(append_text(message, block))
    return placed


def append_text(message: ChatMessage, text: str) -> ChatMessage:
    """A copy of `message` with `text` at its end.

    A single text block stays a single one: some templates take plain text only.
    """
    blocks = list(message.blocks)
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        old = blocks[0].text
        blocks[0] = TextBlock(text=f"{old}{SEPARATOR}{text}" if old else text)
    else:
        blocks.append(TextBlock(text=text))
    return message.model_copy(update={"blocks": blocks})


def add_nudges(
    request: Sequence[ChatMessage], lookup: str, load: str, *, system: bool
) -> list[ChatMessage]:
    """A new request with the two pull instructions.

    Args:
        request: The request; not changed.
        lookup: Name of the lookup tool.
        load: Name of the load tool.
        system: Add the one for the system prompt; False where the agent writes its own.
    """
    nudged = list(request)
    first = next((i for i, m in enumerate(nudged) if m.role == MessageRole.USER), None)
    if first is not None:
        nudged[first] = append_text(nudged[first], user_nudge(lookup, load))
    if not system:
        return nudged
    text = system_nudge(lookup, load)
    if nudged and nudged[0].role == MessageRole.SYSTEM:
        nudged[0] = append_text(nudged[0], text)
        return nudged
    return [ChatMessage(role=MessageRole.SYSTEM, content=text), *nudged]


def _newest(
    request: Sequence[ChatMessage],
    texts: dict[int, str],
    real: Sequence[int],
    user_text: str | None,
) -> int | None:
    """Index of the user message that this run is about; later ones are LlamaIndex's own.

    A retry repeats the user's message and adds a complaint in user position behind it.
    """
    if not real:
        return None
    if user_text is None:
        return real[-1]
    tail = user_text.rstrip()
    newest = next((i for i in reversed(real) if texts[i].rstrip().endswith(tail)), real[-1])
    repeated = (
        newest - 1 in real
        and texts[newest - 1] == texts[newest]
        and newest + 1 < len(request)
        and request[newest + 1].role == MessageRole.ASSISTANT
    )
    return newest - 1 if repeated else newest


def _written(message: ChatMessage, unwrap: Callable[[str], str]) -> str:
    """Text of a user message; the state prompt stands around its last text block.

    Advice is there when an application stores requests.
    """
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    texts = [text for text in texts if not is_advice(text)]
    if texts:
        texts[-1] = unwrap(texts[-1])
    return "\n".join(texts)


def _unwrapper(state_prompt: BasePromptTemplate | None) -> Callable[[str], str]:
    if state_prompt is None:
        return lambda text: text
    try:
        wrapped = state_prompt.format(state=_STATE, msg=_MESSAGE)
    except Exception:  # noqa: BLE001  # a user's template may raise anything; it stays as it is
        return lambda text: text
    return functools.partial(_unwrapped, _wrapping(wrapped))


@functools.lru_cache(maxsize=64)
def _wrapping(wrapped: str) -> re.Pattern[str] | None:
    """A pattern for texts that a state prompt was put around; None where it cannot be told."""
    if wrapped.count(_MESSAGE) != 1 or wrapped.count(_STATE) != 1:
        return None
    pattern = re.escape(wrapped)
    pattern = pattern.replace(re.escape(_STATE), ".*?", 1)
    pattern = pattern.replace(re.escape(_MESSAGE), "(?P<message>.*)", 1)
    return re.compile(rf"\A{pattern}\Z", re.DOTALL)


def _unwrapped(pattern: re.Pattern[str] | None, text: str) -> str:
    match = pattern.match(text) if pattern else None
    return match["message"] if match else text
