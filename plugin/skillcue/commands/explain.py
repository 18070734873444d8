"""``skillcue explain``: the numbers behind a ranking, and the push gate on each user turn."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from skillcue.commands.conversation import Conversation, read_conversation
from skillcue.commands.conversation_page import conversation_data, render_conversation
from skillcue.commands.language_model import usage_record, usage_text
from skillcue.commands.library import Opened, open_indexed
from skillcue.commands.output import Screen, fields, write_json
from skillcue.commands.records import advice_record, hit_record
from skillcue.commands.signals import (
    MEANINGS,
    generic_words,
    matched_words,
    meaning,
    stronger_in,
)
from skillcue.pages.render import check_writable, write_whole
from skillcue.push.budget import shorten
from skillcue_hooks import Advice, Hit, Ranking
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]

NEAR_MISSES = 3
"""Skills behind the last hit that are named with what they were stronger in."""
USER_CHARS = 200
"""Longest user message on the screen, characters."""


def run(args: Namespace) -> int:
    """Explain a query, or each user turn of a conversation; 1 for an empty library."""
    conversation = read_conversation(args.conversation) if args.conversation else None
    _check_html(args)
    if conversation is None and not args.query.strip():
        raise ConfigurationError("The query is empty.", 'Say what you ask: "merge two pdfs".')
    with open_indexed(args) as library:
        library.note_problems()
        if library.is_empty and not args.json:
            return 1
        if conversation is None:
            _explain_query(args, library)
        else:
            _explain_turns(args, library, conversation)
        return 1 if library.is_empty else 0


def _explain_query(args: Namespace, library: Opened) -> None:
    more = NEAR_MISSES if args.k > 0 else 0  # what is wrong is reported as it was written
    ranking = library.cue.lookup(args.query, k=args.k + more, mode=args.mode)
    hits, missed = ranking.hits[: args.k], ranking.hits[args.k :]
    advice = library.cue.advise([{"role": "user", "content": args.query}], mode=args.mode)
    generic = generic_words(args.query, library.cue.snapshot().library.skills)
    if args.json:
        write_json(_document(args.query, ranking, args.k, generic, advice))
        return
    screen = Screen()
    note = f" ({ranking.degraded})" if ranking.degraded else ""
    screen.show(f"mode {ranking.mode}, {ranking.total} skills for {args.query!r}{note}")
    if (ranking.cost + advice.cost).calls:
        screen.show(f"cost: {usage_text(ranking.cost + advice.cost)}")
    if generic:
        screen.show(fields([("words any skill might use, which count half", ", ".join(generic))]))
    for hit in hits:
        screen.heading(f"{hit.rank}. {hit.skill.name}  score {hit.score:.3f}")
        screen.table(("signal", "value", "meaning"), _signals(hit, ranking.mode), numeric="value")
        words = matched_words(args.query, hit.skill)
        if words:
            screen.show(fields([(f"in {field}", ", ".join(words[field])) for field in words]))
    if missed:
        _show_missed(screen, hits[-1], missed)
    screen.heading("push: what the gate says when a user writes this")
    screen.show(_decision(advice))


def _signals(hit: Hit, mode: str) -> list[tuple[str, str, str]]:
    """Words first, then meaning, then what is made of them."""
    known = list(MEANINGS)
    names = sorted(hit.signals, key=lambda n: known.index(n) if n in known else len(known))
    return [(name, f"{hit.signals[name]:.3f}", meaning(name, mode)) for name in names]


def _show_missed(screen: Screen, last: Hit, missed: Sequence[Hit]) -> None:
    screen.heading("near misses")
    rows = [
        (str(hit.rank), hit.skill.name, f"{last.score - hit.score:.3f}", _strengths(hit, last))
        for hit in missed
    ]
    columns = ("#", "skill", "behind", f"stronger than {last.skill.name} in")
    screen.table(columns, rows, numeric="# behind")


def _strengths(hit: Hit, last: Hit) -> str:
    found = stronger_in(hit, last)
    return ", ".join(f"{n} {a:.2f} (not {b:.2f})" for n, (a, b) in found.items()) or "nothing"


def _document(
    query: str, ranking: Ranking, k: int, generic: tuple[str, ...], advice: Advice
) -> dict[str, Any]:
    names = sorted({name for hit in ranking.hits for name in hit.signals})
    records = [{**hit_record(h), "matched_in": matched_words(query, h.skill)} for h in ranking.hits]
    return {
        "query": query,
        "mode": ranking.mode,
        "total": ranking.total,
        "degraded": ranking.degraded,
        "cost": usage_record(ranking.cost + advice.cost),
        "generic_words": list(generic),
        "hits": records[:k],
        "near_misses": records[k:],
        "signals": {name: meaning(name, ranking.mode) for name in names},
        "push": advice_record(advice),
    }


def _check_html(args: Namespace) -> None:
    if args.html and not args.conversation:
        raise ConfigurationError("--html draws a conversation.", "Add --conversation FILE.")
    check_writable(args.html)


def _explain_turns(args: Namespace, library: Opened, conversation: Conversation) -> None:
    turns = [
        (turn, library.cue.advise(conversation.messages[: turn.position + 1], mode=args.mode))
        for turn in conversation.said()
    ]
    if args.html:
        pages = [(turn.text, advice, turn.replies) for turn, advice in turns]
        skills = len(library.cue.snapshot().library.skills)
        data = conversation_data(conversation.title, library.where, skills, pages)
        write_whole(args.html, render_conversation(data))
    if args.json:
        records = [
            {
                "turn": number,
                "user": turn.text,
                "push": advice_record(advice),
                "cost": usage_record(advice.cost),
            }
            for number, (turn, advice) in enumerate(turns, 1)
        ]
        write_json({"title": conversation.title, "turns": records})
        return
    screen = Screen()
    screen.show(f"{conversation.title}: {len(turns)} user turns")
    for number, (turn, advice) in enumerate(turns, 1):
        flat = " ".join(turn.text.split())
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
    if advice.cost.calls:
        rows.append(("cost", usage_text(advice.cost)))
    if advice.degraded:
        rows.append(("degraded", advice.degraded))
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
