"""Messages to user turns: who said what, which message the advice belongs to, what is visible."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillcue.push.messages import MessageView, strip_advice

__all__ = ["LoadedMark", "UserTurn", "loaded_skills", "mark_loaded", "user_turns"]

_LOADED = re.compile(
    r"\A\[skill (?P<id>\S+) version (?P<version>[0-9a-f]{12})"
    r" page (?P<page>\d+)/(?P<pages>\d+)(?: file (?P<file>\S+))?\]"
)


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One user turn in a list of messages.

    Attributes:
        position: Index of the message the advice belongs to: the last one of a run of user
            messages, so that roles keep alternating as they did.
        key: The message's id, else ``position:hash`` ("yes" comes twice).
        text: What the user wrote in this turn; empty for image-only turns.
        context: What was said before, newest last, bounded.
        digest: Identifies all messages up to and including this turn.
    """

    position: int
    key: str
    text: str
    context: str
    digest: str


@dataclass(frozen=True, slots=True)
class LoadedMark:
    """One page of a skill that stands in the messages as a tool result."""

    skill_id: str
    version: str
    page: int
    pages: int
    file: str | None


def user_turns(views: Sequence[MessageView], context_chars: int) -> tuple[UserTurn, ...]:
    """The user turns of a conversation, oldest first.

    System-made messages in user position are nobody's turn.

    Args:
        views: The messages.
        context_chars: At most this many characters of earlier messages are kept as context.
    """
    turns: list[UserTurn] = []
    chain = hashlib.sha256()
    said: list[str] = []
    run: list[str] = []
    for position, view in enumerate(views):
        text = strip_advice(view.text) if view.role == "user" else view.text
        chain.update(f"{view.role}\x00{view.id}\x00{text}\x01".encode("utf-8", "surrogatepass"))
        if view.role != "user" or view.system_made:
            if view.role in ("assistant", "tool"):
                said, run = [*said, *run], []
            if view.role == "assistant" and text:
                said.append(text)
            continue
        run.append(text)
        if _next_speaker(views, position) == "user":
            continue
        turns.append(
            UserTurn(
                position=position,
                key=view.id or f"{position}:{_short_hash(text)}",
                text="\n".join(part for part in run if part.strip()),
                context=_tail(said, context_chars),
                digest=chain.hexdigest(),
            )
        )
    return tuple(turns)


def mark_loaded(mark: LoadedMark) -> str:
    """The first line of every ``skill_load`` result; what `loaded_skills` recognises."""
    file = f" file {mark.file}" if mark.file else ""
    return f"[skill {mark.skill_id} version {mark.version} page {mark.page}/{mark.pages}{file}]"


def loaded_skills(
    views: Sequence[MessageView], load_tool: str | None, end: int | None = None
) -> Mapping[str, tuple[LoadedMark, ...]]:
    """Skills whose text stands in the messages, by id.

    Only results of the load tool count where the tool's name can be told, so that another tool
    cannot pretend.

    Args:
        views: The messages.
        load_tool: Name of the load tool.
        end: Look at ``views[:end]`` only.
    """
    found: dict[str, tuple[LoadedMark, ...]] = {}
    for view in views[:end]:
        if view.role != "tool" or view.tool_name not in ("", load_tool):
            continue
        match = _LOADED.match(view.text)
        if match:
            mark = LoadedMark(
                match["id"],
                match["version"],
                int(match["page"]),
                int(match["pages"]),
                match["file"],
            )
            found[mark.skill_id] = (*found.get(mark.skill_id, ()), mark)
    return found


def _next_speaker(views: Sequence[MessageView], position: int) -> str:
    """Role of the next message that is not system-made, "" at the end."""
    rest = (view.role for view in views[position + 1 :] if not view.system_made)
    return next(rest, "")


def _tail(said: Sequence[str], limit: int) -> str:
    """The newest texts that fit, the oldest of them cut at its front."""
    text = "\n".join(said[-6:])
    return text[-limit:] if limit else ""


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
