"""What stored events say, as one HTML file."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from skillcue.pages.render import PageParts, render_page

__all__ = ["PARTS", "render_stats"]

PARTS = PageParts("skillcue.commands", "stats_page")
"""Script and style of this page."""


def render_stats(document: Mapping[str, Any]) -> str:
    """The page; equal documents give equal bytes.

    Args:
        document: What ``skillcue stats --json`` prints.
    """
    return render_page(PARTS, "skillcue: what agents did", document, _plain(document))


def _plain(document: Mapping[str, Any]) -> str:
    """The skills that were read, for readers without scripts."""
    items = [
        f"<li>{html.escape(skill['skill'])}: read in {skill['loads']} turns, "
        f"offered and not read in {skill['ignored']}</li>"
        for skill in document["skills"]
    ]
    return f"<p>{document['turns']} turns</p><ul>{''.join(items)}</ul>"
