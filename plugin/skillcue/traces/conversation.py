"""The conversation in which a skill is being loaded, for those who observe the load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["conversation_of_load", "loading_in"]

_messages: ContextVar[Sequence[Any]] = ContextVar("skillcue_loading_in", default=())


@contextmanager
def loading_in(messages: Sequence[Any]) -> Iterator[None]:
    """Loads inside the block are part of the conversation `messages`."""
    token = _messages.set(messages)
    try:
        yield
    finally:
        _messages.reset(token)


def conversation_of_load() -> Sequence[Any]:
    """The messages of the conversation, empty where they are not known."""
    return _messages.get()
