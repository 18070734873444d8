"""What a cross-encoder reads of a query and of a skill."""

from __future__ import annotations

from skillcue_adapters.passages import sentences
from skillcue_hooks.contracts import Skill

__all__ = ["pair_query", "pair_text"]

_MOST_SENTENCES = 1000


def pair_query(text: str, limit: int) -> str:
    """`text`, or its first sentences where it is longer than `limit` characters.

    Sentences are taken as long as they fit, those that say nothing ("OK.") apart; a first one that
    does not fit is cut, as is a text without sentences.
    """
    if len(text) <= limit:
        return text
    # Sentences beyond this cannot fit, and a pasted log has a hundred thousand of them.
    pieces = sentences(text[: 2 * limit], _MOST_SENTENCES)
    taken = ""
    for piece in pieces:
        longer = f"{taken} {piece}" if taken else piece
        if taken and len(longer) > limit:
            break
        taken = longer
    return (taken or text)[:limit]


def pair_text(skill: Skill, body_limit: int, limit: int) -> str:
    """Name, description and the beginning of the body, at most `limit` characters.

    Args:
        skill: The skill.
        body_limit: Characters of the body; 0 leaves it out.
        limit: Characters of everything.
    """
    head = f"{skill.name}: {skill.description}"
    body = skill.body[:body_limit].strip()
    return (f"{head}\n{body}" if body else head)[:limit]
