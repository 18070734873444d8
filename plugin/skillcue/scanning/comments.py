"""What a rendered page does not show: HTML comments and hidden elements that hold orders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.scanning.phrases import orders
from skillcue.scanning.text import Found, ScannedText

__all__ = ["comments"]

_TO_MODEL = re.compile(
    r"\b(?:ai|llm|agents?|assistants?|claude|chatgpt|gpt|copilot|models?)\b\W{1,4}(?:\w{1,20}\W{1,3}){0,4}?"
    r"(?:must|should|shall|execute|run|read|send|fetch|ignore|do not|always|never)\b"
    r"|\b(?:you must|always run|execute the following|run the following|system:|instructions? for (?:ai|the (?:ai|agent|model|assistant)))"
)
_ELEMENT = re.compile(
    r"\bstyle\s{0,2}=\s{0,2}[\"'][^\"'\n]{0,200}?"
    r"(?:display\s{0,2}:\s{0,2}none|visibility\s{0,2}:\s{0,2}hidden|font-size\s{0,2}:\s{0,2}0)"
)
_COMMENT_CHARS = 4_000
"""Longer comments are looked at by their beginning, characters."""


def comments(text: ScannedText) -> Iterator[Found]:
    """Orders in HTML comments, and elements that are not shown."""
    if not text.has(b"<!--", b"style"):
        return
    low = text.low
    start = low.find("<!--")
    while start >= 0:
        end = low.find("-->", start + 4)
        stop = len(low) if end < 0 else end
        yield from _inside(text, start + 4, min(stop, start + 4 + _COMMENT_CHARS))
        start = low.find("<!--", stop)
    if "style" in low:
        for match in _ELEMENT.finditer(low):
            if not text.is_cited(match):
                yield text.found("scan-hidden-element", match)


def _inside(text: ScannedText, start: int, stop: int) -> Iterator[Found]:
    inner = text.low[start:stop]
    line = text.line_at(text.low, start)
    severe = {"scan-override", "scan-override-cited", "scan-conceal", "scan-safety"}
    if any(found.code in severe for found in orders(ScannedText(inner))):
        yield Found("scan-hidden-order", line, inner.strip())
    elif _TO_MODEL.search(inner):
        yield Found("scan-comment", line, inner.strip())
