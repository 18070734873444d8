"""What a model answered, as calls: tool calls, or JSON objects in its text.

Models that call tools are given tools. Others write one JSON object, or a list of them, such as
``{"command": "keyword", "query": "..."}``. Text around the JSON and a code fence are tolerated;
the rest is a mistake that the model may put right once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillcue_adapters.refine.quoting import one_line
from skillcue_hooks.language import Completion, ToolCall

__all__ = ["Call", "MalformedError", "read_calls"]

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_BEGINNING = re.compile(r"\[\s*[{\]]|\{")
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside texts: what models write


class MalformedError(ValueError):
    """The answer is no call; the message says why, for the model."""


@dataclass(frozen=True, slots=True)
class Call:
    """One thing that a model wants done.

    Attributes:
        name: A command, ``finish``, or anything else it made up.
        arguments: As it wrote them.
        id: Of the tool call that must be answered; "" where it wrote JSON.
        problem: Why its arguments cannot be read, for the model; "" where they can.
    """

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    problem: str = ""


def read_calls(answer: Completion) -> tuple[Call, ...]:
    """The calls in `answer`, in order, at least one.

    Raises:
        MalformedError: There is none.
    """
    if answer.tool_calls:
        return tuple(map(_tool_call, answer.tool_calls))
    found = _json_in(answer.text)
    items = found if isinstance(found, list) else [found]
    if not items:
        raise MalformedError("The list of commands is empty.")
    return tuple(map(_call, items))


def _call(item: Any) -> Call:
    name = item.get("command") if isinstance(item, dict) else None
    if not isinstance(name, str):
        raise MalformedError('Each object needs "command", a text.')
    return Call(name, {key: value for key, value in item.items() if key != "command"})


def _tool_call(call: ToolCall) -> Call:
    if call.invalid or not isinstance(call.arguments, Mapping):
        problem = f"The arguments of {one_line(call.name, 40)} are no valid JSON object."
        return Call(call.name, {}, call.id, problem)
    return Call(call.name, call.arguments, call.id)


def _json_in(text: str) -> Any:
    """The first JSON object or list in `text`; of a fenced block where there is one."""
    fenced = _FENCED.search(text)
    broken = False
    for part in (fenced[1] if fenced else "", text):
        start = _BEGINNING.search(part)
        if start is None:
            continue
        try:
            found, _ = _DECODER.raw_decode(part, start.start())
        except (ValueError, RecursionError):
            broken = True  # a fragment inside of what is broken is not what was meant
            continue
        return found
    raise MalformedError(
        "The JSON in the answer is not valid." if broken else "The answer holds no JSON object."
    )
