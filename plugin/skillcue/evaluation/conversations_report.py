"""The evaluation of push as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from skillcue.pages.render import PageParts, render_page
from skillcue.push.budget import shorten

__all__ = ["CHARS_SHOWN", "CURVE_POINTS", "PARTS", "TURNS_SHOWN", "render_push_report"]

PARTS = PageParts("skillcue.evaluation", "conversations_page")
"""Script of this page."""
TURNS_SHOWN = 1_000
"""Most turns in the page, the first ones; the JSON has all of them."""
CHARS_SHOWN = 600
"""Longest text of a turn in the page, characters."""
CURVE_POINTS = 400
"""Most points of a curve in the page."""


def render_push_report(document: Mapping[str, Any]) -> str:
    """The page.

    Args:
        document: What `skillcue.evaluation.conversations_document.make_push_document` gives.
    """
    title = f"skillcue push: {document['dataset']['name']}"
    turns = [{**t, "text": shorten(t["text"], CHARS_SHOWN)} for t in document["turns"]]
    notes = list(document["dataset"]["notes"])
    if len(turns) > TURNS_SHOWN:
        notes.append(f"Single turns are shown for the first {TURNS_SHOWN:,} of {len(turns):,}.")
    modes = [{**mode, "curve": _thinned(mode["curve"])} for mode in document["modes"]]
    shown = {**document, "turns": turns[:TURNS_SHOWN], "modes": modes, "report_notes": notes}
    return render_page(PARTS, title, shown, _plain(document))


def _thinned(curve: list[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """Points spread evenly, the last one among them."""
    step = -(-len(curve) // CURVE_POINTS)
    return [*curve[:: max(step, 1)], *curve[-1:]]


def _plain(document: Mapping[str, Any]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("mode", "AUC", "advised", "false pushes"))
    rows = []
    for mode in document["modes"]:
        at = mode["at_setting"]
        values = (mode["auc"]["mean"], at["advised"]["mean"], at["false_pushes"]["mean"])
        cells = "".join(f"<td>{'-' if v is None else f'{v:.3f}'}</td>" for v in values)
        rows.append(f"<tr><td>{html.escape(mode['mode'])}</td>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"
