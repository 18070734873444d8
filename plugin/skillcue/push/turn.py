"""Messages to user turns: who said what, which message the advice belongs to, what is visible."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillcue.library.characters import clean
from skillcue.push.declines import DECLINED_KEY
from skillcue.push.messages import MessageView, strip_advice
from skillcue_hooks import Skill

__all__ = [
    "LoadedMark",
    "UserTurn",
    "known_turns",
    "load_marks",
    "loaded_skills",
    "mark_loaded",
    "skill_version",
    "thread_task",
    "user_turns",
]

CONTEXT_MESSAGES = 6
"""Earlier messages that are looked at for the context of a turn."""
KEY_CHARS = 64
"""Longest message id that keys a turn in a thread's record, characters."""
KEY_BEFORE_CHARS = 200
"""How much of the user message before goes into the key of one without an id, characters."""

_HEX = re.compile(r"[0-9a-f]{12}")
_OLD_KEY = re.compile(r"\d+:[0-9a-f]{10}")
_LOADED = re.compile(
    r"\[skill (?P<id>.+?) version (?P<version>[0-9a-f]{12})"
    r" page (?P<page>[0-9]{1,9})/(?P<pages>[0-9]{1,9})(?: file (?P<file>.+))?\](?:\n|\Z)"
)
_OBSERVED = "\nObservation: [skill "
_ACTION = re.compile(
    r"^Action: *(\S+)[^\n]*\nAction Input:[^\n]*\nObservation: (?=\[skill )", re.MULTILINE
)
_THOUGHT = "\nThought:"


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One user turn in a list of messages.

    Attributes:
        position: Index of the message the advice belongs to: the last one of a run of user
            messages, so that roles keep alternating as they did.
        key: The message's id; where it has none that is fit to be stored, a hash of the message
            and the user message before it, which stays when a history is trimmed; with the
            position in front where an earlier turn has the same.
        text: What the user wrote in this turn; empty for image-only turns.
        context: What was said before, newest last, bounded.
        digest: Identifies all messages up to and including this turn.
        earlier: What the user said before, newest last; the messages that `context` is made of.
        identified: The message has an id, so that no other conversation has this turn.
    """

    position: int
    key: str
    text: str
    context: str
    digest: str
    identified: bool = False
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedMark:
    """One page of a skill that stands in the messages as a tool result.

    `position` and `chars` say where it stands and how much text stands there; they do not count
    when two marks are compared.
    """

    skill_id: str
    version: str
    page: int
    pages: int
    file: str | None
    position: int = field(default=-1, compare=False)
    chars: int = field(default=0, compare=False)


def user_turns(
    views: Sequence[MessageView], context_chars: int, known: Collection[str] = ()
) -> tuple[UserTurn, ...]:
    """The user turns of a conversation, oldest first.

    System-made messages in user position are nobody's turn. A conversation that grows by answers
    and further turns keeps the turns it had; a user message right behind another one joins it,
    unless a request was made for the other one before and its advice must stay where it was.

    Args:
        views: The messages.
        context_chars: At most this many characters of earlier user messages are kept as context.
        known: Keys of turns that requests were made for.
    """
    turns: list[UserTurn] = []
    keys = {DECLINED_KEY}
    chain = hashlib.sha256()
    said: deque[str] = deque(maxlen=CONTEXT_MESSAGES)
    run: list[str] = []
    before = ""
    for position, (view, speaks_next) in enumerate(zip(views, _next_speakers(views), strict=True)):
        text = strip_advice(view.text) if view.role == "user" else view.text
        _extend(chain, view, text)
        if view.role != "user" or view.system_made:
            continue  # what others said may hold whole skills, which would then find themselves
        run.append(text)
        key = _key(view.id, position, before, text, keys)
        before = text
        if speaks_next == "user" and not _was_sent(views, view.id, key, known):
            continue
        keys.add(key)
        written = "\n".join(part for part in run if part.strip())
        context = _tail(said, context_chars)
        turns.append(
            UserTurn(position, key, written, context, chain.hexdigest(), bool(view.id), tuple(said))
        )
        said.extend(part for part in run if part)
        run.clear()
    return tuple(turns)


def thread_task(turns: Iterable[UserTurn]) -> str:
    """What a thread is about: the text of its first turn that holds any, "" where none does."""
    return next((turn.text for turn in turns if turn.text.strip()), "")


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


def known_turns(
    records: Mapping[str, Sequence[str]], turns: Sequence[UserTurn], views: Sequence[MessageView]
) -> Mapping[str, Sequence[str]]:
    """`records`, those of versions that named a message without an id by its position included."""
    if not any(_OLD_KEY.fullmatch(str(key)) for key in records):
        return records
    known = dict(records)
    for turn in turns:
        old = f"{turn.position}:{_hash(strip_advice(views[turn.position].text))[:10]}"
        if turn.key not in records and old in records:
            known[turn.key] = records[old]
    return known


def loaded_skills(
    views: Sequence[MessageView], load_tool: str | None, end: int | None = None
) -> Mapping[str, tuple[LoadedMark, ...]]:
    """Skills whose text stands in the messages, by id; see `load_marks`."""
    found: dict[str, dict[LoadedMark, LoadedMark]] = {}
    for mark in load_marks(views, load_tool, end):
        same = found.setdefault(mark.skill_id, {})
        if mark not in same or same[mark].chars < mark.chars:
            same[mark] = mark
    return {skill_id: tuple(marks.values()) for skill_id, marks in found.items()}


def load_marks(
    views: Sequence[MessageView], load_tool: str | None, end: int | None = None
) -> Iterator[LoadedMark]:
    """Pages of skills that stand in the messages, in their order.

    Only results of the load tool count where the tool's name can be told, so that another tool
    cannot pretend. Agents of the ReAct kind keep what their tools said in a text of their own.

    Args:
        views: The messages.
        load_tool: Name of the load tool.
        end: Look at ``views[:end]`` only.
    """
    for position, view in enumerate(views[:end]):
        single = ((view.tool_name, view.text),) if view.role == "tool" else ()
        for tool_name, text in view.results or single:
            mark = _mark_at(text, 0, position, len(text)) if tool_name in ("", load_tool) else None
            if mark:
                yield mark
        if view.role == "assistant" and _OBSERVED in view.text:
            for match in _ACTION.finditer(view.text):
                stop = view.text.find(_THOUGHT, match.end())
                stop = len(view.text) if stop < 0 else stop
                mark = _mark_at(view.text, match.end(), position, stop)
                if mark and match[1] == load_tool:
                    yield mark


def _mark_at(text: str, start: int, position: int, stop: int) -> LoadedMark | None:
    """The mark that stands at `start`, the page behind it reaching to `stop` at most."""
    match = _LOADED.match(text, start)
    if match is None:
        return None
    return LoadedMark(
        _read(match["id"]),
        match["version"],
        int(match["page"]),
        int(match["pages"]),
        _read(match["file"]) if match["file"] else None,
        position,
        max(stop - match.end(), 0),
    )


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


def _key(message_id: str, position: int, before: str, text: str, taken: Collection[str]) -> str:
    """A key that is short, unique in its conversation and fit for any store."""
    fit = len(message_id) <= KEY_CHARS and message_id.isprintable()  # lone surrogates are not
    if message_id and fit and message_id not in taken:
        return message_id
    key = _hash(f"{before[-KEY_BEFORE_CHARS:]}\x00{text}")[:10]
    return f"{position}:{key}" if key in taken else key


def _was_sent(
    views: Sequence[MessageView], message_id: str, key: str, known: Collection[str]
) -> bool:
    """A request was made for the message: its id is known, and no other message has it."""
    if key != message_id or key not in known:
        return False
    return sum(view.id == key for view in views) == 1


def _tail(said: Iterable[str], limit: int) -> str:
    """The newest texts that fit, the oldest of them cut at its front."""
    return "\n".join(text[-limit:] for text in said)[-limit:] if limit else ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
