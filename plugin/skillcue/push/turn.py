"""Messages to user turns: who said what, which message the advice belongs to, what is visible."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillcue.library.characters import clean
from skillcue.push.messages import MessageView, strip_advice
from skillcue_hooks import Skill

__all__ = [
    "LoadedMark",
    "UserTurn",
    "loaded_skills",
    "mark_loaded",
    "skill_version",
    "user_turns",
]

CONTEXT_MESSAGES = 6
"""Earlier messages that are looked at for the context of a turn."""
KEY_CHARS = 64
"""Longest message id that keys a turn in a thread's record, characters."""

_HEX = re.compile(r"[0-9a-f]{12}")
_LOADED = re.compile(
    r"\A\[skill (?P<id>.+?) version (?P<version>[0-9a-f]{12})"
    r" page (?P<page>[0-9]{1,9})/(?P<pages>[0-9]{1,9})(?: file (?P<file>.+))?\](?:\n|\Z)"
)


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One user turn in a list of messages.

    Attributes:
        position: Index of the message the advice belongs to: the last one of a run of user
            messages, so that roles keep alternating as they did.
        key: The message's id; ``position:hash`` where it has none ("yes" comes twice), where an
            earlier turn has the same, or where it is not fit to be stored.
        text: What the user wrote in this turn; empty for image-only turns.
        context: What was said before, newest last, bounded.
        digest: Identifies all messages up to and including this turn.
        identified: The message has an id, so that no other conversation has this turn.
    """

    position: int
    key: str
    text: str
    context: str
    digest: str
    identified: bool = False


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

    System-made messages in user position are nobody's turn. A conversation that grows by answers
    and further turns keeps the turns it had; a user message right behind another one joins it.

    Args:
        views: The messages.
        context_chars: At most this many characters of earlier user messages are kept as context.
    """
    turns: list[UserTurn] = []
    keys: set[str] = set()
    chain = hashlib.sha256()
    said: deque[str] = deque(maxlen=CONTEXT_MESSAGES)
    run: list[str] = []
    for position, (view, speaks_next) in enumerate(zip(views, _next_speakers(views), strict=True)):
        text = strip_advice(view.text) if view.role == "user" else view.text
        _extend(chain, view, text)
        if view.role != "user" or view.system_made:
            continue  # what others said may hold whole skills, which would then find themselves
        run.append(text)
        if speaks_next == "user":
            continue
        key = _key(view.id, position, text, keys)
        keys.add(key)
        written = "\n".join(part for part in run if part.strip())
        context = _tail(said, context_chars)
        turns.append(UserTurn(position, key, written, context, chain.hexdigest(), bool(view.id)))
        said.extend(part for part in run if part)
        run.clear()
    return tuple(turns)


def mark_loaded(mark: LoadedMark) -> str:
    """The first line of every ``skill_load`` result; what `loaded_skills` recognises."""
    file = f" file {_written(mark.file)}" if mark.file else ""
    where = f"page {mark.page}/{mark.pages}{file}"
    return f"[skill {_written(mark.skill_id)} version {mark.version} {where}]"


def skill_version(skill: Skill) -> str:
    """Twelve hex digits that change with the skill's text, whatever its source calls a version."""
    if _HEX.match(skill.content_hash):
        return skill.content_hash[:12]
    return _hash(skill.content_hash)[:12]


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
    found: dict[str, dict[LoadedMark, None]] = {}
    for view in views[:end]:
        if view.role != "tool" or view.tool_name not in ("", load_tool):
            continue
        match = _LOADED.match(view.text)
        if match:
            mark = LoadedMark(
                _read(match["id"]),
                match["version"],
                int(match["page"]),
                int(match["pages"]),
                _read(match["file"]) if match["file"] else None,
            )
            found.setdefault(mark.skill_id, {})[mark] = None
    return {skill_id: tuple(marks) for skill_id, marks in found.items()}


def _written(name: str) -> str:
    """An id or a path on one line and without markup; ids are percent-encoded already."""
    line = clean(name).text.replace("\n", " ")
    return line.replace("<", "%3C").replace(">", "%3E")


def _read(written: str) -> str:
    """What `_written` was given."""
    return written.replace("%3C", "<").replace("%3E", ">")


def _extend(chain: hashlib._Hash, view: MessageView, text: str) -> None:
    """Add a message to a digest: everything of it that a decision depends on."""
    made = "made" if view.system_made else ""
    for part in (view.role, view.id, view.tool_name, made, text):
        data = part.encode("utf-8", "surrogatepass")
        # The length keeps a text from reading like the end of one message and a second one.
        chain.update(len(data).to_bytes(8, "big") + data)


def _next_speakers(views: Sequence[MessageView]) -> list[str]:
    """For each message the role of the next one that is not system-made, "" at the end."""
    roles: list[str] = []
    role = ""
    for view in reversed(views):
        roles.append(role)
        if not view.system_made:
            role = view.role
    return roles[::-1]


def _key(message_id: str, position: int, text: str, taken: Collection[str]) -> str:
    """A key that is short, unique in its conversation and fit for any store."""
    fit = len(message_id) <= KEY_CHARS and message_id.isprintable()  # lone surrogates are not
    if message_id and fit and message_id not in taken:
        return message_id
    return f"{position}:{_hash(text)[:10]}"


def _tail(said: Iterable[str], limit: int) -> str:
    """The newest texts that fit, the oldest of them cut at its front."""
    return "\n".join(text[-limit:] for text in said)[-limit:] if limit else ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
