"""``skillcue search``: the ranking for a query."""

from __future__ import annotations

from argparse import Namespace

from skillcue.commands.language_model import usage_record, usage_text
from skillcue.commands.library import open_indexed
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.commands.records import hit_record
from skillcue.push.budget import shorten
from skillcue.untrusted import marked
from skillcue_hooks import Ranking
from skillcue_hooks.errors import ConfigurationError

__all__ = ["parse_filters", "run"]

DESCRIPTION_CHARS = 160
"""Longest description in the table, characters; ``--json`` has all of it."""


def run(args: Namespace) -> int:
    """Print the hits; 1 when there are none."""
    if not args.query.strip():
        raise ConfigurationError("The query is empty.", 'Say what you look for: "merge two pdfs".')
    filters = parse_filters(args.filter)
    with open_indexed(args) as library:
        ranking = library.cue.lookup(
            args.query, k=args.k, mode=args.mode, context=args.context, filters=filters
        )
        library.note_problems()
    if args.json:
        write_json(_document(args.query, ranking))
    elif ranking.hits:
        _show(ranking)
    else:
        print_note("No skill matches.", "Try other words, or leave a --filter out.")
    return 0 if ranking.hits else 1


def parse_filters(pairs: list[str]) -> dict[str, str]:
    """``field=value`` texts as a mapping.

    Raises:
        ConfigurationError: One is not of that form, or a field comes twice.
    """
    filters: dict[str, str] = {}
    for pair in pairs:
        field, equals, value = pair.partition("=")
        if not (field and equals and value):
            raise ConfigurationError(f"--filter {pair!r} is no FIELD=VALUE.", "Such as tag=pdf.")
        if field in filters:
            raise ConfigurationError(
                f"--filter {field} is given twice.", "Give each field once: tag, category, ..."
            )
        filters[field] = value
    return filters


def _document(query: str, ranking: Ranking) -> dict[str, object]:
    return {
        "query": query,
        "mode": ranking.mode,
        "total": ranking.total,
        "degraded": ranking.degraded,
        "cost": usage_record(ranking.cost),
        "hits": [hit_record(hit) for hit in ranking.hits],
    }


def _show(ranking: Ranking) -> None:
    screen = Screen()
    rows = [
        (
            str(hit.rank),
            hit.skill.name,
            f"{hit.score:.2f}",
            shorten(marked(hit.skill, " ".join(hit.skill.description.split())), DESCRIPTION_CHARS),
        )
        for hit in ranking.hits
    ]
    screen.table(("#", "skill", "score", "description"), rows, numeric="# score")
    note = f"; {ranking.degraded}" if ranking.degraded else ""
    screen.show(f"\n{len(ranking.hits)} of {ranking.total} skills, mode {ranking.mode}{note}")
    if ranking.cost.calls:
        screen.show(f"cost: {usage_text(ranking.cost)}")
