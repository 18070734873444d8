"""From a user turn to what is searched for: its words, and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from skillcue.push.cues import acknowledges, prose
from skillcue_hooks import TurnQuery
from skillcue_hooks.errors import PluginError

__all__ = [
    "CHARS_PER_TOKEN",
    "CONTEXT_TOKENS",
    "DEPTH",
    "QUERY_TOKENS",
    "checked_query",
    "turn_query",
]

REFERRED_CHARS = 600
"""Characters of an earlier turn that stand in for words that a turn does not have."""

BLOCK_CHARS = 600
"""Longer fenced blocks are searched by their beginning and end, characters."""

DEPTH = 20
"""Candidates of a turn that are looked at, unless set otherwise; so it is where the gate is fitted."""

QUERY_TOKENS = 2_000
"""Likewise, the size of a query, tokens."""

CONTEXT_TOKENS = 300
"""Likewise, the size of its context, tokens."""

CHARS_PER_TOKEN = 4
"""Characters of a token, on average."""

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~)(.*?)(^[ \t]*\1[ \t]*$|\Z)")


def turn_query(
    user_text: str, earlier: Sequence[str], query_tokens: int, context_tokens: int
) -> TurnQuery:
    """The query of a user turn. Words are taken as they are, in whatever language.

    A turn that is made of function words alone ("do it", "and the same again?") is searched behind
    the last turn that is not, unless it only thanks or agrees.

    Args:
        user_text: What the user wrote.
        earlier: What the user wrote before, newest last.
        query_tokens: Size of the text, tokens.
        context_tokens: Size of the context, tokens.
    """
    text = _ends(_FENCE.sub(_short_block, user_text), query_tokens * CHARS_PER_TOKEN)
    limit = context_tokens * CHARS_PER_TOKEN
    context = "\n".join(prose(said) for said in earlier)[-limit:] if limit else ""
    if limit and not _has_words(text) and not acknowledges(text):
        referred = next((said for said in map(prose, reversed(earlier)) if _has_words(said)), "")
        text = f"{referred[-REFERRED_CHARS:]}\n{text}" if referred else text
    return TurnQuery(text, context)


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
    parts = {"text": answer.text, "context": answer.context}
    for name, part in parts.items():
        if not isinstance(part, str):
            raise PluginError(f"Its {name} is a {type(part).__name__}.", "Make it text.")
    if not answer.text.strip():
        raise PluginError("Its text is blank.", "Answer None to have the message searched.")
    return replace(answer, **{name: _ends(part, limit) for name, part in parts.items()})


def _has_words(text: str) -> bool:
    from skillcue_adapters.analyzer import ANALYZER  # its stemmer need not be there at import

    return bool(ANALYZER.terms(text))


def _short_block(match: re.Match[str]) -> str:
    """A pasted block: its first and last lines name the tool and the error."""
    return "\n" + _ends(match[2].strip("\n"), BLOCK_CHARS) + "\n"


def _ends(text: str, limit: int) -> str:
    """Beginning and end of a long text: that is where people say what they want."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 3 // 4]}\n{text[-(limit // 4) :]}"
