"""The two nudges in a request of LangChain messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import SystemMessage

from skillcue.nudges import system_nudge, user_nudge
from skillcue.placement import append_text, place
from skillcue.pull import PullTools
from skillcue.push.messages import view_messages

__all__ = ["nudged", "nudged_system", "nudged_user"]


def nudged(messages: Sequence[Any], pull: PullTools) -> list[Any]:
    """Both nudges: in the leading system message, made if there is none, and the user's first."""
    views = view_messages(messages[:1])
    has_system = bool(views) and views[0].role == "system"
    system = nudged_system(messages[0] if has_system else None, pull)
    return [system, *nudged_user(messages[1:] if has_system else messages, pull)]


def nudged_system(system: Any | None, pull: PullTools) -> Any:
    """The system message with the instruction at its end; blocks stay blocks."""
    text = system_nudge(pull.lookup_name, pull.load_name)
    return SystemMessage(text) if system is None else append_text(system, text)


def nudged_user(messages: Sequence[Any], pull: PullTools) -> list[Any]:
    """The messages, the first one of the user's with the instruction at its end."""
    for position, view in enumerate(view_messages(messages)):
        if view.role == "user" and not view.system_made:
            return place(messages, [(position, user_nudge(pull.lookup_name, pull.load_name))])
    return list(messages)
