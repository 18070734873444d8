"""Conversation files: JSON with OpenAI-style messages, read once and checked whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue.push.messages import MessageView, view_messages
from skillcue.push.turn import user_turns
from skillcue_hooks.errors import ConfigurationError

__all__ = ["CONVERSATION_BYTES", "Conversation", "Said", "read_conversation"]

CONVERSATION_BYTES = 8 * 1024 * 1024
"""Largest conversation file, bytes."""
ROLES = ("assistant", "developer", "system", "tool", "user")

_FORM = 'The form is {"messages": [{"role": "user", "content": "..."}, ...]}.'


@dataclass(frozen=True, slots=True)
class Said:
    """A user turn in a conversation.

    Attributes:
        position: Index of its last message.
        text: What the user wrote.
        replies: (role, text) of what follows before the next user turn.
    """

    position: int
    text: str
    replies: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation to be explained or played.

    Attributes:
        title: One line about it.
        messages: OpenAI-style messages, ``role`` and ``content`` only.
    """

    title: str
    messages: tuple[Mapping[str, Any], ...]

    def said(self) -> list[Said]:
        """Each user turn that holds text, with what was answered to it."""
        views = view_messages(self.messages)
        turns = user_turns(views, context_chars=0)
        # A turn may be several messages in a row; answers end where the next run begins.
        ends = [_run_start(views, turn.position) for turn in turns[1:]] + [len(views)]
        return [
            Said(
                turn.position,
                turn.text,
                tuple((v.role, v.text) for v in views[turn.position + 1 : end] if v.text.strip()),
            )
            for turn, end in zip(turns, ends, strict=False)
            if turn.text.strip()
        ]

    def user_turns(self) -> list[tuple[int, str]]:
        """(index of its last message, text) of each user turn that holds text."""
        return [(turn.position, turn.text) for turn in self.said()]


def read_conversation(path: str | Path) -> Conversation:
    """Read a conversation: an object with ``messages`` and maybe ``title``, or the bare list.

    Raises:
        ConfigurationError: The file cannot be read, is no such JSON, or holds no user message.
    """
    document = _parsed(Path(path).expanduser())
    title = Path(path).name
    if isinstance(document, dict):
        title = str(document.get("title") or title)
        document = document.get("messages")
    if not isinstance(document, list):
        raise ConfigurationError(f"{path} holds no list of messages.", _FORM)
    messages = tuple(_message(path, number, item) for number, item in enumerate(document, 1))
    conversation = Conversation(title, messages)
    if not conversation.user_turns():
        raise ConfigurationError(f"{path} holds no user message with text.", _FORM)
    return conversation


def _run_start(views: Sequence[MessageView], last: int) -> int:
    """Index of the first message of the run of user messages that ends at `last`."""
    while last > 0 and views[last - 1].role == "user" and not views[last - 1].system_made:
        last -= 1
    return last


def _parsed(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(CONVERSATION_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            f"The conversation {path} cannot be read: {error.strerror or error}.",
            "Pass a JSON file that this process may read.",
        ) from error
    if len(data) > CONVERSATION_BYTES:
        raise ConfigurationError(
            f"The conversation {path} is larger than {CONVERSATION_BYTES} bytes.",
            "Cut it down to the turns that matter.",
        )
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is no UTF-8 text: {error.reason}.", _FORM) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise ConfigurationError(f"{path} is no JSON: {error.msg}, {where}.", _FORM) from error
    except RecursionError as error:
        raise ConfigurationError(f"{path} is nested too deeply.", _FORM) from error


def _message(path: str | Path, number: int, item: Any) -> Mapping[str, Any]:
    if not isinstance(item, dict) or item.get("role") not in ROLES:
        raise ConfigurationError(
            f"{path}: message {number} has no role out of {', '.join(ROLES)}.", _FORM
        )
    content = item.get("content")
    if not isinstance(content, str) and not _is_blocks(content):
        raise ConfigurationError(f"{path}: message {number} has no content that is text.", _FORM)
    return {"role": item["role"], "content": content}


def _is_blocks(content: Any) -> bool:
    return isinstance(content, Sequence) and all(isinstance(part, dict) for part in content)
