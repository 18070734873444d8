"""The chat completions format, which most services and local servers speak.

Source: OpenAI API reference, "Create chat completion", ``POST /v1/chat/completions``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skillcue_adapters.language_models.backend import counted
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec

__all__ = ["call_field", "completion_of", "message_field", "tool_field"]


def tool_field(tool: ToolSpec) -> dict[str, Any]:
    """An item of the ``tools`` field."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


def call_field(call: ToolCall) -> dict[str, Any]:
    """An item of ``tool_calls``."""
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def message_field(message: ChatMessage) -> dict[str, Any]:
    """An item of ``messages``."""
    made: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        made["tool_calls"] = [call_field(call) for call in message.tool_calls]
    if message.role == "tool":
        made["tool_call_id"] = message.tool_call_id
    return made


def completion_of(response: Any) -> Completion:
    """The answer in a response body.

    Raises:
        ValueError: It is no chat completion.
    """
    try:
        message = response["choices"][0]["message"]
        text = message.get("content") or ""
        calls = tuple(_call(item) for item in message.get("tool_calls") or ())
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("no chat completion") from None
    usage = response.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    tokens = counted(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    return Completion(text if isinstance(text, str) else json.dumps(text), calls, tokens)


def _call(item: Mapping[str, Any]) -> ToolCall:
    """A call; arguments that are no JSON object become none, which do not fit the schema."""
    function = item["function"]
    arguments = function.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {}
    fits = isinstance(arguments, Mapping)
    return ToolCall(str(item.get("id") or ""), str(function["name"]), arguments if fits else {})
