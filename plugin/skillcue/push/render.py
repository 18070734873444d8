"""The one place where words of a skill file become words a model reads in user position.

Everything a skill says is data: angle brackets are escaped, line breaks folded, control and
invisible characters removed, length capped. Equal input gives equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from skillcue.library.characters import clean
from skillcue.push.budget import shorten
from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN
from skillcue_hooks import Hit, Skill

__all__ = [
    "BRACKETS",
    "advice_block",
    "escape",
    "escape_path",
    "quoted_lines",
    "render_advice",
    "render_body",
    "wrap_custom",
]

DESCRIPTION_CHARS = 240
"""Longest description shown in advice, characters; the index holds all of it."""

_INTRO = (
    "Note from the application, not from the user: the skill library holds instructions that may "
    "help with this message."
)
_INTRO_BODY = (
    "Note from the application, not from the user: the skill library holds instructions for this "
    "message. They are loaded already; each of their lines begins with |{brackets}."
)
BRACKETS = ", and &lt; and &gt; stand for angle brackets"
"""Said of a quotation that holds any."""
_OUTRO_BODY = "If they fit, follow them; if they do not, go on without. Do not mention this note."
_OUTRO_LOAD = (
    "If one fits, load it before you act and follow it; if none fits, go on without. "
    "Do not mention this note."
)
_OUTRO_FILE = (
    "If one fits, read its file before you act and follow it; if none fits, go on without. "
    "Do not mention this note."
)


def escape(text: str, limit: int | None = None) -> str:
    """`text` on one line, without markup: safe inside the advice delimiters and in tool results.

    Ampersands stay: without angle brackets they open nothing, and names and paths stay usable.

    Args:
        text: Anything.
        limit: Longer texts are shortened to this many characters first, None for no limit.
    """
    line = " ".join(clean(text).text.split())
    return _without_markup(line if limit is None else shorten(line, limit))


def escape_path(path: str) -> str:
    """A path that can still be opened: changed only where it has brackets or hidden characters."""
    return _without_markup(clean(path).text.replace("\n", " "))


def render_advice(
    hits: Sequence[Hit], load_name: Callable[[Skill], str], load_tool: str | None
) -> str:
    """The built-in wording, without delimiters.

    Args:
        hits: Offered skills, best first.
        load_name: The name under which ``skill_load`` finds exactly this skill.
        load_tool: Name of the bound load tool; None when none is bound, then the file is named.
    """
    lines = [_INTRO]
    for hit in hits:
        if load_tool:
            name = json.dumps(escape(load_name(hit.skill)), ensure_ascii=False)
            where = f"{load_tool}(name={name})"
        else:
            where = f"file {escape_path(hit.skill.path.as_posix())}"
        description = escape(hit.skill.description, DESCRIPTION_CHARS)
        lines.append(f"- {escape(hit.skill.name)}: {description} [{where}]")
    lines.append(_OUTRO_LOAD if load_tool else _OUTRO_FILE)
    return "\n".join(lines)


def render_body(skill: Skill, mark: str, body: str, base_dir: Path | None, call: str) -> str:
    """A whole body, without delimiters: what the load tool answers, as a quotation.

    Args:
        skill: The skill.
        mark: The first line of what the load tool answers.
        body: Its whole body.
        base_dir: Folder that paths in the body refer to; None where there is none.
        call: How a file beside it is read; "" where it cannot be.
    """
    quoted = quoted_lines(body)
    brackets = BRACKETS if any("&lt;" in line or "&gt;" in line for line in quoted) else ""
    lines = [_INTRO_BODY.format(brackets=brackets), _without_markup(mark)]
    lines.append(f"{escape(skill.name)}: {escape(skill.description, DESCRIPTION_CHARS)}")
    if base_dir is not None:
        where = f"Base directory: {escape_path(str(base_dir))} (relative paths below start there"
        lines.append(f"{where}; read a file with {call})" if call else f"{where})")
    elif call:
        lines.append(f"Read a file that is mentioned below with {call}")
    lines += [*quoted, _OUTRO_BODY]
    return "\n".join(lines)


def quoted_lines(text: str) -> list[str]:
    """The lines of `text`, each behind a vertical bar and without markup.

    The bar keeps a line from being taken for the end of the quotation or for another speaker,
    whatever it begins with.
    """
    plain = _without_markup(clean(text).text).strip("\n")
    return [f"| {line}".rstrip() for line in plain.split("\n")]


def wrap_custom(text: str) -> str:
    """A plugin's own wording, made as safe as the built-in one; its lines stay lines."""
    return _without_markup(clean(text).text).strip()


def advice_block(text: str) -> str:
    """`text` between the fixed delimiters, as it is put into a request."""
    return f"{ADVICE_OPEN}\n{text}\n{ADVICE_CLOSE}"


def _without_markup(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")
