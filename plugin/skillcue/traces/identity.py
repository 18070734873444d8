"""Which turn a record is about: a hash that the decision, a load and a label agree on."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from skillcue.push.messages import view_messages
from skillcue.push.query import CHARS_PER_TOKEN
from skillcue.push.settings import PushSettings
from skillcue.push.turn import UserTurn, user_turns
from skillcue_hooks.contracts import Turn

__all__ = ["ID_CHARS", "told_turns", "turn_id", "turn_ids"]

ID_CHARS = 32
"""Length of a turn's id, hex digits."""

_MADE_UP = re.compile(r"(?:[0-9]+:)?[0-9a-f]{10}")  # what keys a turn whose message has no id


def turn_id(turn: Turn | UserTurn) -> str:
    """The id of a turn: of its message's id where it has one, else of the words up to it.

    Equal words in equal conversations without message ids have one id. It is a hash, not a
    secret: whoever guesses a short conversation can check the guess.
    """
    if isinstance(turn, Turn):
        key, text = turn.message_id, turn.user_text
    else:
        key, text = turn.key, turn.text
    parts = ("words", turn.context, text) if _MADE_UP.fullmatch(key) else ("id", key)
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:ID_CHARS]


def turn_ids(messages: Sequence[Any], settings: PushSettings | None = None) -> tuple[str, ...]:
    """The ids of all user turns of a conversation, oldest first, to label them.

    Args:
        messages: LangChain or LlamaIndex messages, or OpenAI-style dicts.
        settings: Those of the `SkillCue` that recorded, the default ones for None.
    """
    return tuple(turn_id(turn) for turn in told_turns(messages, settings or PushSettings()))


def told_turns(messages: Sequence[Any], settings: PushSettings) -> tuple[UserTurn, ...]:
    """The user turns of a conversation as the advisor reads them."""
    return user_turns(view_messages(messages), CHARS_PER_TOKEN * settings.context_tokens)
