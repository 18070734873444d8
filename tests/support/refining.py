"""Scripts for a refining model: what it asks for and what it hands in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skillcue_hooks import Completion, ToolCall, Usage
from skillcue_hooks.language import ChatMessage
from skillcue_hooks.testing import ScriptedLanguageModel

__all__ = [
    "BODY",
    "TASK",
    "FixedModel",
    "command",
    "draft",
    "finish",
    "first_id",
    "good_script",
    "tool_calls",
    "write_skills",
]

TASK = "Extract the tables of the quarterly pdf report and merge them into one workbook"

BODY = "1. Extract the tables with the pdf tool.\n2. Merge the sheets.\n"

SKILLS = {
    "pdf-tables": ("Extract tables from pdf reports.", "Use camelot for ruled tables in a pdf."),
    "workbook-merge": ("Merge sheets into one workbook.", "Open each sheet and append its rows."),
    "release-notes": ("Write release notes from commits.", "Group the commits by kind."),
    "sql-slow": ("Find slow database queries.", "Read the query plan of the database."),
    "mail-reply": ("Answer customer mail politely.", "Thank the customer and answer."),
}


def write_skills(folder: Path, **more: tuple[str, str]) -> Path:
    """A library of five small skills, and `more` by name, underscores for hyphens."""
    named = {name.replace("_", "-"): texts for name, texts in more.items()}
    for name, (description, body) in {**SKILLS, **named}.items():
        path = folder / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n\n{body}\n"
        path.write_text(text, encoding="utf-8")
    return folder


def command(name: str, **arguments: Any) -> str:
    """One command in the JSON form."""
    return json.dumps({"command": name, **arguments})


def draft(name: str = "pdf-to-workbook", *parents: str, **changes: Any) -> dict[str, Any]:
    """A skill as a model hands it in."""
    fields = {
        "name": name,
        "description": "Extract the tables of a pdf report and merge them into one workbook.",
        "body": BODY,
        "derived_from": list(parents or ("pdf-tables@pdf-tables",)),
    }
    return {**fields, **changes}


def finish(*drafts: dict[str, Any]) -> str:
    """The last answer, in the JSON form."""
    return json.dumps({"command": "finish", "skills": list(drafts)})


def good_script() -> list[str]:
    """One search, two skills read, one skill handed in."""
    return [
        command("keyword", query="pdf tables"),
        command("detail", skill="pdf-tables@pdf-tables"),
        command("detail", skill="workbook-merge@workbook-merge"),
        finish(draft("pdf-to-workbook", "pdf-tables@pdf-tables", "workbook-merge@workbook-merge")),
    ]


def tool_calls(*calls: tuple[str, dict[str, Any]], first: int = 1) -> Completion:
    """An answer of a model that calls tools."""
    made = [ToolCall(f"call-{n}", name, args) for n, (name, args) in enumerate(calls, first)]
    return Completion("", tuple(made), Usage(1, 100, 20, 0.01))


def first_id(messages: Sequence[ChatMessage]) -> str:
    """The first id in the newest message."""
    found = re.search(r'id="([^"]+)"', messages[-1].text)
    assert found is not None
    return found[1]


class FixedModel(ScriptedLanguageModel):
    """A scripted model that is the same model whatever its script is: for a second process."""

    def __init__(
        self, answers: Sequence[Any] | Callable[..., Any], *, calls_tools: bool = False
    ) -> None:
        super().__init__(answers if isinstance(answers, Sequence) else [], calls_tools=calls_tools)
        self.fingerprint = f"fixed-model:{calls_tools}"
