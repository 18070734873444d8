"""LangChain chat models. The framework is imported by whoever made the model, not before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillcue_adapters.encoders.describe import describe
from skillcue_adapters.language_models.backend import counted, model_name, shortened
from skillcue_adapters.language_models.openai_format import tool_field
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

__all__ = ["LangChainBackend"]

_NOSTREAM = "nostream"
"""LangGraph's tag for models whose tokens stay out of ``stream_mode="messages"``."""


class LangChainBackend:
    """Asks a ``BaseChatModel``.

    The call has no callbacks but the model's own: those of the run around it, which LangGraph's
    streams and ``astream_events`` consist of, do not hear of it.

    Args:
        model: The chat model, without tools bound to it.
    """

    def __init__(self, model: BaseChatModel) -> None:
        from langchain_core.language_models.chat_models import BaseChatModel

        self._model = model
        self.name = model_name(model, "model_name", "model", "model_id", "deployment_name")
        # Now, and not when asked for: counters and caches in the object change while it works.
        self.fingerprint = fingerprint("langchain", describe(model))
        self.calls_tools = type(model).bind_tools is not BaseChatModel.bind_tools

    def answer(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """What the model answers.

        Raises:
            Exception: Whatever the model raises.
        """
        model: Any = shortened(self._model, max_tokens)
        if tools:
            model = model.bind_tools([tool_field(tool) for tool in tools])
        found: AIMessage = model.invoke(
            [_message(message) for message in messages],
            {"tags": [_NOSTREAM], "callbacks": [], "run_name": "skillcue"},
        )
        usage: Any = found.usage_metadata or {}
        return Completion(
            str(found.text),
            _calls(found),
            counted(usage.get("input_tokens"), usage.get("output_tokens")),
        )


def _message(message: ChatMessage) -> BaseMessage:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    if message.role == "system":
        return SystemMessage(message.text)
    if message.role == "user":
        return HumanMessage(message.text)
    if message.role == "tool":
        return ToolMessage(message.text, tool_call_id=message.tool_call_id)
    calls = [{"id": c.id, "name": c.name, "args": dict(c.arguments)} for c in message.tool_calls]
    return AIMessage(message.text, tool_calls=calls)


def _calls(message: AIMessage) -> tuple[ToolCall, ...]:
    """Calls, behind them those whose arguments are no JSON object."""
    good = [ToolCall(c["id"] or "", c["name"], c["args"]) for c in message.tool_calls]
    bad = [
        ToolCall(c["id"] or "", c["name"] or "", {}, invalid=c["args"] or c["error"] or "nothing")
        for c in message.invalid_tool_calls
    ]
    return (*good, *bad)
