"""The conversation that a lookup or a load is made in, for those who observe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from skillcue.push.settings import PushSettings
from skillcue.traces.identity import told_turns, turn_id
from skillcue_hooks.contracts import Advice, LoadedSkill

__all__ = ["asking_in", "decided_now", "turn_of_load", "turn_of_lookup"]

_messages: ContextVar[Sequence[Any]] = ContextVar("skillcue_asking_in", default=())
_advised: ContextVar[tuple[str, frozenset[str]]] = ContextVar(
    "skillcue_advised", default=("", frozenset())
)


@contextmanager
def asking_in(messages: Sequence[Any]) -> Iterator[None]:
    """Lookups and loads inside the block are part of the conversation `messages`."""
    token = _messages.set(messages)
    try:
        yield
    finally:
        _messages.reset(token)


def decided_now(advice: Advice) -> None:
    """Loads that name no conversation may belong to this decision from now on."""
    if advice.turn is not None:
        _advised.set((turn_id(advice.turn), frozenset(hit.skill.id for hit in advice.hits)))


def turn_of_lookup(push: PushSettings) -> str | None:
    """Id of the turn in whose conversation the lookup is made; None where it names none.

    Args:
        push: How the advisor reads a conversation.
    """
    turns = told_turns(_messages.get(), push)
    return turn_id(turns[-1]) if turns else None


def turn_of_load(loaded: LoadedSkill, push: PushSettings) -> str | None:
    """Id of the turn in whose conversation the load is made.

    A program that loads by itself names no conversation; then it is the turn that was decided
    last in the same context, if that turn offered the skill.

    Args:
        loaded: What was loaded.
        push: How the advisor reads a conversation.
    """
    known = turn_of_lookup(push)
    if known is not None:
        return known
    turn, offered = _advised.get()
    return turn if loaded.skill.id in offered else None
