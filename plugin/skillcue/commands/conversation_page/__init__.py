"""A conversation with every decision of push on it, as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from skillcue.commands.records import advice_record
from skillcue.commands.signals import meaning
from skillcue.pages.render import PageParts, render_page
from skillcue.push.budget import shorten
from skillcue_hooks import Advice, Hit

__all__ = ["CHARS_SHOWN", "PARTS", "conversation_data", "render_conversation"]

CHARS_SHOWN = 4_000
"""Longest text of a message in the page, characters."""
DESCRIPTION_CHARS = 400
"""Longest description of a candidate, characters."""

PARTS = PageParts("skillcue.commands", "conversation_page")
"""Script and style of this page."""


def conversation_data(
    title: str,
    where: str,
    skills: int,
    turns: Sequence[tuple[str, Advice, Sequence[tuple[str, str]]]],
) -> dict[str, Any]:
    """What the page draws.

    Args:
        title: Of the conversation.
        where: The library, as it was named.
        skills: Number of skills in it.
        turns: (user text, decision, what was said next as (role, text)) of each user turn.
    """
    records = [
        {
            "number": number,
            "user": shorten(text, CHARS_SHOWN),
            "replies": [{"role": r, "text": shorten(said, CHARS_SHOWN)} for r, said in replies],
            "push": _decision(advice),
        }
        for number, (text, advice, replies) in enumerate(turns, 1)
    ]
    return {"title": title, "where": where, "skills": skills, "turns": records}


def render_conversation(data: Mapping[str, Any]) -> str:
    """The page; times in it differ from run to run.

    Args:
        data: What `conversation_data` gives.
    """
    return render_page(PARTS, f"skillcue: {data['title']}", data, _plain(data["turns"]))


def _decision(advice: Advice) -> dict[str, Any]:
    reasons = {item.hit.skill.id: item.reason for item in advice.rejected}
    offered = {hit.skill.id for hit in advice.hits}
    hits = {hit.skill.id: hit for hit in (*advice.hits, *(r.hit for r in advice.rejected))}
    ranked = sorted(hits.values(), key=lambda hit: (hit.rank, hit.skill.id))
    record = advice_record(advice)
    del record["rejected"]
    return {
        **record,
        "ms": round(advice.elapsed_s * 1000, 2),
        "features": {name: round(v, 4) for name, v in getattr(advice, "features", {}).items()},
        "candidates": [
            _candidate(hit, advice.mode, hit.skill.id in offered, reasons) for hit in ranked
        ],
    }


def _candidate(hit: Hit, mode: str, is_offered: bool, reasons: Mapping[str, str]) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "name": hit.skill.name,
        "id": hit.skill.id,
        "description": shorten(hit.skill.description, DESCRIPTION_CHARS),
        "score": round(hit.score, 4),
        "offered": is_offered,
        "reason": "" if is_offered else reasons.get(hit.skill.id, ""),
        "signals": [
            [name, round(value, 4), meaning(name, mode)]
            for name, value in sorted(hit.signals.items())
        ],
    }


def _plain(turns: Sequence[Mapping[str, Any]]) -> str:
    """A list of the decisions for readers without scripts."""
    items = []
    for turn in turns:
        push = turn["push"]
        said = ", ".join(push["skills"]) or "nothing"
        items.append(
            f"<li>{html.escape(shorten(turn['user'], 200))}<br>"
            f"<b>{html.escape(said)}</b>: {html.escape(push['reason'])}</li>"
        )
    return f"<ol>{''.join(items)}</ol>"
