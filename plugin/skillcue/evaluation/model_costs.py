"""What a language model took in each mode, for the documents and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillcue.commands.language_model import usage_record
from skillcue.commands.output import Screen
from skillcue.evaluation.runner import RunSettings
from skillcue_hooks.language import Usage

__all__ = ["model_fields", "show_model_costs", "spent_fields"]


def model_fields(settings: RunSettings) -> dict[str, Any]:
    """The model among the settings of a document; nothing where there is none."""
    return {} if settings.llm is None else {"llm": settings.llm.name}


def spent_fields(settings: RunSettings, cost: Usage) -> dict[str, Any]:
    """What a mode took, for its part of a document; nothing where there is no model."""
    return {} if settings.llm is None else {"cost": usage_record(cost)}


def show_model_costs(screen: Screen, document: Mapping[str, Any], asked: str) -> None:
    """A table of calls, tokens and money, where there is a model.

    Args:
        screen: The terminal.
        document: Of either evaluation.
        asked: What the modes were asked, such as ``54 queries``.
    """
    name = document["settings"].get("llm")
    if name is None:
        return
    screen.heading(f"what the language model {name} took for {asked}")
    columns = ("mode", "calls", "tokens in", "tokens out", "money")
    rows = [(mode["mode"], *_numbers(mode["cost"])) for mode in document["modes"]]
    screen.table(columns, rows, numeric="calls in out tokens money")
    if any(mode["cost"]["estimated"] for mode in document["modes"]):
        screen.show("Some tokens are estimated: the model did not count them.")


def _numbers(cost: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (cost["calls"], cost["input_tokens"], cost["output_tokens"])
    money = "unknown" if cost["money"] is None else f"{cost['money']:.4f}"
    return (*(f"{count:,}" for count in counts), money)
