"""What a model answered, as calls: tool calls, or JSON objects in its text.

Models that call tools are given tools. Others write JSON objects such as
``{"command": "keyword", "query": "..."}``: one, a list of them, or one below the other. Text around
the JSON and code fences are tolerated; the rest is a mistake that the model may put right once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillcue_adapters.refine.quoting import plain_line
from skillcue_hooks.language import Completion, ToolCall

__all__ = ["Call", "MalformedError", "read_calls"]

MOST_CALLS = 100
"""Objects of one answer that are looked at: as many as there can be commands."""

_FENCE = re.compile(r"```(?:json)?[^\S\n]*\n")
_COMMAND = re.compile(r"""["']command["']""")
_BEGINNING = re.compile(r"""\[\s*[{\]]|\{(?![^{}"':]+\})""")  # words in braces are no JSON
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
    items = list(_objects_in(answer.text))
    calls = tuple(_call(item) for item in items[:MOST_CALLS])
    if all(call.problem for call in calls):
        raise MalformedError(calls[0].problem if calls else "The answer holds no JSON object.")
    if len(items) > MOST_CALLS:
        return (*calls, Call("", {}, problem=f"At most {MOST_CALLS} commands fit in one answer."))
    return calls


class _Broken:
    """Stands for everything from where the JSON is not valid."""


def _call(item: Any) -> Call:
    if isinstance(item, _Broken):
        return Call("", {}, problem="The JSON in the answer is not valid.")
    name = item.get("command") if isinstance(item, dict) else None
    if not isinstance(name, str):
        return Call("", {}, problem="Each object needs `command`, a text.")
    return Call(name, {key: value for key, value in item.items() if key != "command"})


def _tool_call(call: ToolCall) -> Call:
    if call.invalid or not isinstance(call.arguments, Mapping):
        problem = f"The arguments of {plain_line(call.name, 40)} are no valid JSON object."
        return Call(call.name, {}, call.id, problem)
    return Call(call.name, call.arguments, call.id)


def _objects_in(text: str) -> Iterator[Any]:
    """The outermost objects in `text` and those in its lists, in order.

    It ends where the JSON is not valid: a fragment inside of what is broken is not what was meant.
    A command that stands there was to be one; braces in the words after one are no mistake.

    Raises:
        MalformedError: There is only a list of nothing.
    """
    place, found, empty = _start(text), False, False
    while (start := _BEGINNING.search(text, place)) is not None:
        try:
            value, place = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            if not found or _COMMAND.search(text, start.start()):
                yield _Broken()
            return
        items = value if isinstance(value, list) else [value]
        found, empty = found or bool(items), empty or not items
        yield from items
    if empty and not found:
        raise MalformedError("The list of commands is empty.")


def _start(text: str) -> int:
    """Where the first code fence begins, unless it stands inside of a command; else 0."""
    fence = _FENCE.search(text)
    return 0 if fence is None or _COMMAND.search(text, 0, fence.start()) else fence.end()
