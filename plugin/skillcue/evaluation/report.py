"""The evaluation as one HTML file: everything in it, nothing loaded, no script but its own."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from skillcue.pages.render import PageParts, render_page
from skillcue.push.budget import shorten

__all__ = ["CHARS_SHOWN", "PARTS", "QUERIES_SHOWN", "render_report"]

PARTS = PageParts("skillcue.evaluation", "report_page")
"""Script of this page."""

QUERIES_SHOWN = 1_000
"""Most queries in the page, those on which modes differ most first; the JSON has all of them."""
CHARS_SHOWN = 600
"""Longest text of a query in the page, characters."""


def render_report(document: Mapping[str, Any]) -> str:
    """The page.

    Args:
        document: What `skillcue.evaluation.document.make_document` gives.
    """
    title = f"skillcue: {document['dataset']['name']}"
    return render_page(PARTS, title, _shown(document), _means(document))


def _shown(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without what the page does not show."""
    queries = document["queries"]
    notes = []
    if len(queries) > QUERIES_SHOWN:
        notes.append(
            f"Single queries are shown for the {QUERIES_SHOWN:,} of {len(queries):,} on which the "
            "modes differ most; means and curves are of all."
        )
        queries = sorted(queries, key=_spread, reverse=True)[:QUERIES_SHOWN]
    return {**document, "report_notes": notes, "queries": [_query(query) for query in queries]}


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in query.items() if name != "context"}
    return {**shown, "text": shorten(query["text"], CHARS_SHOWN)}


def _spread(query: Mapping[str, Any]) -> float:
    values = [answer["scores"]["nDCG@10"] for answer in query["modes"].values()]
    return float(max(values) - min(values))


def _means(document: Mapping[str, Any]) -> str:
    """A plain table for readers without scripts."""
    names = document["measures"]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("mode", *names))
    rows = [
        f"<tr><td>{html.escape(mode['mode'])}</td>"
        + "".join(f"<td>{mode['means'][name]['mean']:.3f}</td>" for name in names)
        + "</tr>"
        for mode in document["modes"]
    ]
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"
