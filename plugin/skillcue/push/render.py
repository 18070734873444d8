"""The one place where words of a skill file become words a model reads in user position.

Everything a skill says is data: angle brackets are escaped, line breaks folded, control and
invisible characters removed, length capped. Equal input gives equal bytes.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence

from skillcue.push.budget import shorten
from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN
from skillcue_hooks import Hit, Skill

__all__ = ["advice_block", "escape", "render_advice", "wrap_custom"]

DESCRIPTION_CHARS = 240
"""Longest description shown in advice, characters; the index holds all of it."""

_INTRO = (
    "Note from the application, not from the user: the skill library holds instructions that may "
    "help with this message."
)
_OUTRO_LOAD = (
    "If one fits, load it before you act and follow it; if none fits, go on without. "
    "Do not mention this note."
)
_OUTRO_FILE = (
    "If one fits, read its file before you act and follow it; if none fits, go on without. "
    "Do not mention this note."
)
_KEPT_CONTROLS = "\n\t"


def escape(text: str) -> str:
    """`text` on one line, without markup: safe inside the advice delimiters and in tool results."""
    visible = "".join(
        " " if unicodedata.category(ch) == "Cc" else ch
        for ch in text
        if unicodedata.category(ch) not in ("Cf", "Cs", "Co", "Cn")
    )
    folded = " ".join(visible.split())
    return folded.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
        name = load_name(hit.skill)
        where = (
            f"{load_tool}(name={json.dumps(name, ensure_ascii=False)})"
            if load_tool
            else f"file {hit.skill.path.as_posix()}"
        )
        description = escape(shorten(" ".join(hit.skill.description.split()), DESCRIPTION_CHARS))
        lines.append(f"- {escape(hit.skill.name)}: {description} [{escape(where)}]")
    lines.append(_OUTRO_LOAD if load_tool else _OUTRO_FILE)
    return "\n".join(lines)


def wrap_custom(text: str) -> str:
    """A plugin's own wording, made safe: our delimiters in it are escaped, controls removed."""
    clean = "".join(
        ch for ch in text if ch in _KEPT_CONTROLS or unicodedata.category(ch) not in ("Cc", "Cs")
    )
    return re.sub(r"<(/?\s*skill_advice)", r"&lt;\1", clean, flags=re.IGNORECASE).strip()


def advice_block(text: str) -> str:
    """`text` between the fixed delimiters, as it is put into a request."""
    return f"{ADVICE_OPEN}\n{text}\n{ADVICE_CLOSE}"
