"""From a user turn to what is searched for: the turn, and the turn with what it refers to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from skillcue.push.cues import prose
from skillcue_hooks import TurnQuery
from skillcue_hooks.errors import PluginError

__all__ = ["CHARS_PER_TOKEN", "checked_query", "joined_text", "turn_query"]

REFERRED_CHARS = 600
"""Characters of an earlier turn that a follow-up is read with."""

BLOCK_CHARS = 600
"""Longer fenced blocks are searched by their beginning and end, characters."""

CHARS_PER_TOKEN = 4
"""Characters of a token, on average."""

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~)(.*?)(^[ \t]*\1[ \t]*$|\Z)")


def turn_query(
    user_text: str, earlier: Sequence[str], query_tokens: int, context_tokens: int
) -> TurnQuery:
    """The query of a user turn. Words are taken as they are, in whatever language.

    Args:
        user_text: What the user wrote.
        earlier: What the user wrote before, newest last.
        query_tokens: Size of the text, tokens.
        context_tokens: Size of the context, tokens.
    """
    text = _ends(_FENCE.sub(_short_block, user_text), query_tokens * CHARS_PER_TOKEN)
    limit = context_tokens * CHARS_PER_TOKEN
    context = "\n".join(prose(said) for said in earlier)[-limit:] if limit else ""
    return TurnQuery(text, context, joined_text(text, earlier) if limit else text)


def checked_query(answer: object, query_tokens: int) -> TurnQuery:
    """What a plugin wants to be searched for, cut to a size that is safe to search.

    Args:
        answer: The plugin's answer.
        query_tokens: Size of each text, tokens.

    Raises:
        PluginError: It is no `TurnQuery` of texts, or its text is blank.
    """
    if not isinstance(answer, TurnQuery):
        raise PluginError(
            f"It answered a {type(answer).__name__}.", "Answer a TurnQuery, or None to pass."
        )
    limit = query_tokens * CHARS_PER_TOKEN
    parts = {"text": answer.text, "context": answer.context, "joined": answer.joined}
    for name, part in parts.items():
        if not isinstance(part, str):
            raise PluginError(f"Its {name} is a {type(part).__name__}.", "Make it text.")
    if not answer.text.strip():
        raise PluginError("Its text is blank.", "Answer None to have the message searched.")
    return replace(answer, **{name: _ends(part, limit) for name, part in parts.items()})


def joined_text(text: str, earlier: Sequence[str]) -> str:
    """`text` behind the words of the turn before it."""
    return "\n".join([*(prose(said)[-REFERRED_CHARS:] for said in earlier[-1:]), text])


def _short_block(match: re.Match[str]) -> str:
    """A pasted block: its first and last lines name the tool and the error."""
    return "\n" + _ends(match[2].strip("\n"), BLOCK_CHARS) + "\n"


def _ends(text: str, limit: int) -> str:
    """Beginning and end of a long text: that is where people say what they want."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 3 // 4]}\n{text[-(limit // 4) :]}"
