"""``skillcue explain``: the numbers behind a ranking, and the push gate on each user turn."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from skillcue.commands.conversation import Conversation, read_conversation
from skillcue.commands.library import Opened, open_library
from skillcue.commands.output import Screen, fields, write_json
from skillcue.commands.records import advice_record, hit_record
from skillcue.commands.signals import matched_words, meaning
from skillcue.push.budget import shorten
from skillcue_hooks import Advice, Hit, Ranking
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

USER_CHARS = 200
"""Longest user message on the screen, characters."""


def run(args: Namespace) -> int:
    """Explain a query, or each user turn of a conversation; 1 for an empty library."""
    conversation = read_conversation(args.conversation) if args.conversation else None
    if conversation is None and not args.query.strip():
        raise ConfigurationError("The query is empty.", 'Say what you ask: "merge two pdfs".')
    with open_library(args) as library:
        library.note_problems()
        if library.is_empty and not args.json:
            return 1
        if conversation is None:
            _explain_query(args, library)
        else:
            _explain_turns(args, library, conversation)
        return 1 if library.is_empty else 0


def _explain_query(args: Namespace, library: Opened) -> None:
    ranking = library.cue.lookup(args.query, k=args.k, mode=args.mode)
    advice = library.cue.advise([{"role": "user", "content": args.query}], mode=args.mode)
    if args.json:
        write_json(_document(args.query, ranking, advice))
        return
    screen = Screen()
    screen.show(f"mode {ranking.mode}: {ranking.total} skills match {args.query!r}")
    for hit in ranking.hits:
        screen.heading(f"{hit.rank}. {hit.skill.name}  score {hit.score:.3f}")
        screen.table(("signal", "value", "meaning"), _signals(hit, ranking.mode), numeric="value")
        words = matched_words(args.query, hit.skill)
        if words:
            screen.show(fields([(f"in {field}", ", ".join(words[field])) for field in words]))
    screen.heading("push: what the gate says when a user writes this")
    screen.show(_decision(advice))


def _signals(hit: Hit, mode: str) -> list[tuple[str, str, str]]:
    return [(name, f"{value:.3f}", meaning(name, mode)) for name, value in hit.signals.items()]


def _document(query: str, ranking: Ranking, advice: Advice) -> dict[str, Any]:
    names = sorted({name for hit in ranking.hits for name in hit.signals})
    return {
        "query": query,
        "mode": ranking.mode,
        "total": ranking.total,
        "degraded": ranking.degraded,
        "hits": [
            {**hit_record(h), "matched_in": matched_words(query, h.skill)} for h in ranking.hits
        ],
        "signals": {name: meaning(name, ranking.mode) for name in names},
        "push": advice_record(advice),
    }


def _explain_turns(args: Namespace, library: Opened, conversation: Conversation) -> None:
    turns = [
        (text, library.cue.advise(conversation.messages[: position + 1], mode=args.mode))
        for position, text in conversation.user_turns()
    ]
    if args.json:
        records = [
            {"turn": number, "user": text, "push": advice_record(advice)}
            for number, (text, advice) in enumerate(turns, 1)
        ]
        write_json({"title": conversation.title, "turns": records})
        return
    screen = Screen()
    screen.show(f"{conversation.title}: {len(turns)} user turns")
    for number, (text, advice) in enumerate(turns, 1):
        flat = " ".join(text.split())
        screen.heading(f"turn {number}")
        screen.show(fields([("user", shorten(flat, USER_CHARS))]), _decision(advice))


def _decision(advice: Advice) -> Any:
    rows = [
        ("decision", "stay silent" if advice.decision == "abstain" else advice.decision),
        ("confidence", f"{advice.confidence:.2f}, threshold {advice.threshold:.2f}"),
        ("reason", advice.reason),
    ]
    if advice.hits:
        names = ", ".join(hit.skill.name for hit in advice.hits)
        rows.insert(1, ("skills", f"{names} ({advice.tokens} tokens)"))
    rows += [
        ("not offered", f"{', '.join(names)}: {reason}")
        for reason, names in _by_reason(advice).items()
    ]
    return fields(rows)


def _by_reason(advice: Advice) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for rejection in advice.rejected:
        names.setdefault(rejection.reason, []).append(rejection.hit.skill.name)
    return names
