"""The chat completions format, which most services and local servers speak.

Source: OpenAI API reference, "Create chat completion", ``POST /v1/chat/completions``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skillcue_adapters.language_models.backend import counted
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec

__all__ = ["call_field", "completion_of", "message_field", "tool_call", "tool_field"]


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


def tool_call(call_id: object, name: object, written: object) -> ToolCall:
    """A call with arguments as a model wrote them: a JSON object, its text, or what is neither."""
    found = written or {}
    if isinstance(found, str):
        try:
            found = json.loads(found, strict=False)  # raw line breaks: what models write
        except (ValueError, RecursionError):
            found = None
    names = (str(call_id or ""), str(name or ""))
    if isinstance(found, Mapping):
        return ToolCall(*names, found)
    return ToolCall(*names, {}, invalid=str(written))


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
    function = item["function"]
    return tool_call(item.get("id"), function["name"], function.get("arguments"))
