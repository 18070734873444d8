"""The evaluation as one HTML file: everything in it, nothing loaded, no script but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from skillcue.push.budget import shorten

__all__ = ["CHARS_SHOWN", "QUERIES_SHOWN", "render_report"]

QUERIES_SHOWN = 1_000
"""Most queries in the page, those on which modes differ most first; the JSON has all of them."""
CHARS_SHOWN = 600
"""Longest text of a query in the page, characters."""

_SLOT = re.compile(r"<!--slot:(\w+)-->")


def render_report(document: Mapping[str, Any]) -> str:
    """The page.

    Text from the data is never markup: it stands in a block of JSON without ``<``, which the
    script turns into text nodes, and the page's policy allows this one script alone.

    Args:
        document: What `skillcue.evaluation.document.make_document` gives.
    """
    script = _part("page.js")
    title = f"skillcue: {document['dataset']['name']}"
    slots = {
        "policy": _policy(script),
        "title": html.escape(title),
        "style": _part("page.css"),
        "script": script,
        "means": _means(document),
        "data": _data(_shown(document)),
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], _part("page.html"))


def _part(name: str) -> str:
    return (files("skillcue.evaluation") / "report_page" / name).read_text("utf-8")


def _policy(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _data(values: Mapping[str, Any]) -> str:
    """JSON in ASCII that holds nothing an HTML parser looks for."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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
