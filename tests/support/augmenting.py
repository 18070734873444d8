"""Answers of a model that augments, and files to augment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillcue_hooks.contracts import Skill
from skillcue_hooks.language import ChatMessage
from skillcue_hooks.testing import make_skill

__all__ = ["ABOUT_PDF", "answer", "asked_about", "pdf_skill", "write_skill"]

ABOUT_PDF: dict[str, Any] = {
    "tags": ["pdf", "merge", "split", "rotate"],
    "templates": [
        {"capability": "Merge files", "text": "put these papers together at {dpi} dpi"},
        {"capability": "Split a file", "text": "tear this document apart"},
    ],
}
"""A valid answer about `pdf_skill`."""


def pdf_skill(**fields: Any) -> Skill:
    """A skill with a capability that needs a parameter, and one that needs none."""
    body = (
        "## Merge files\n\nJoins them.\n\n- dpi (int, required): between 72 and 600, e.g. 300\n\n"
        "## Split a file\n\nCuts and can rotate.\n"
    )
    return make_skill("pdf-tools", "Merge, split and rotate PDF files.", body, **fields)


def answer(**changes: Any) -> str:
    """`ABOUT_PDF` with changes, as a model writes it."""
    return "Here you are:\n```json\n" + json.dumps({**ABOUT_PDF, **changes}) + "\n```"


def asked_about(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """The file that a model was given."""
    text = messages[1].text
    data: dict[str, Any] = json.loads(text.partition("\n")[2].rpartition("\n")[0])
    return data


def write_skill(folder: Path, name: str, description: str, body: str = "") -> Path:
    """A SKILL.md file."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n", "utf-8")
    return path
