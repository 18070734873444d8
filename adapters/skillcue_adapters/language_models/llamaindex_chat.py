"""LlamaIndex LLMs. The framework is imported by whoever made the model, not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillcue_adapters.encoders.describe import describe
from skillcue_adapters.language_models.backend import counted, model_name, shortened
from skillcue_adapters.language_models.openai_format import call_field, tool_call
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage as TheirMessage
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms.llm import LLM
    from llama_index.core.tools import FunctionTool

__all__ = ["LlamaIndexBackend"]

_COUNTS = (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"))
"""How integrations name the tokens that went in and came out."""


class LlamaIndexBackend:
    """Asks an ``LLM``; one that calls functions gets tools.

    It is asked for a whole answer outside of any workflow, so nothing of it is written to the
    stream of one. Handlers that the user added to the framework's own dispatcher still see it.

    Args:
        model: The LLM.
    """

    def __init__(self, model: LLM) -> None:
        from llama_index.core.llms.function_calling import FunctionCallingLLM

        self._model = model
        self.name = model_name(model.metadata, "model_name", fallback=type(model).__name__)
        # Now, and not when asked for: counters and caches in the object change while it works.
        self.fingerprint = fingerprint("llamaindex", describe(model))
        is_calling = isinstance(model, FunctionCallingLLM)
        self.calls_tools = is_calling and bool(model.metadata.is_function_calling_model)

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
        history = [_message(message) for message in messages]
        if not tools:
            response: ChatResponse = model.chat(history)
            return Completion(response.message.content or "", usage=_usage(response))
        response = model.chat_with_tools(
            [_tool(tool) for tool in tools], chat_history=history, allow_parallel_tool_calls=True
        )
        found = model.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        written = _written_arguments(response.message)
        calls = (
            tool_call(c.tool_id, c.tool_name, written.get(c.tool_id) or c.tool_kwargs)
            for c in found
        )
        return Completion(response.message.content or "", tuple(calls), _usage(response))


def _message(message: ChatMessage) -> TheirMessage:
    from llama_index.core.base.llms import types

    if message.role == "tool":
        return types.ChatMessage(
            role="tool",
            content=message.text,
            additional_kwargs={"tool_call_id": message.tool_call_id},
        )
    theirs = types.ChatMessage(role=message.role, content=message.text or None)
    block: Any = getattr(types, "ToolCallBlock", None)
    if block is not None:
        theirs.blocks.extend(
            block(tool_call_id=c.id, tool_name=c.name, tool_kwargs=dict(c.arguments))
            for c in message.tool_calls
        )
    elif message.tool_calls:  # LlamaIndex 0.13: a call stands beside the blocks
        theirs.additional_kwargs["tool_calls"] = [call_field(c) for c in message.tool_calls]
    return theirs


def _written_arguments(message: TheirMessage) -> dict[str, Any]:
    """Arguments by the id of their call, as the model wrote them.

    Integrations mend what is no JSON, or drop it: half of a skill would pass for a whole one.
    """
    places = [
        (getattr(block, "tool_call_id", None), getattr(block, "tool_kwargs", None))
        for block in message.blocks
    ]
    for call in message.additional_kwargs.get("tool_calls") or ():
        places.append((_value(call, "id"), _value(_value(call, "function"), "arguments")))
    return {call_id: written for call_id, written in places if call_id and written}


def _tool(tool: ToolSpec) -> FunctionTool:
    """A tool of which only the description is used: whoever asked the model does what it calls."""
    from llama_index.core.tools import FunctionTool, ToolMetadata
    from pydantic import BaseModel

    class Arguments(BaseModel):
        @classmethod
        def model_json_schema(cls, *_args: Any, **_kwargs: Any) -> dict[str, Any]:
            return dict(tool.parameters)

    def described(**_arguments: Any) -> str:
        return ""

    metadata = ToolMetadata(tool.description, name=tool.name, fn_schema=Arguments)
    return FunctionTool(described, metadata=metadata)


def _usage(response: ChatResponse) -> Usage:
    """What the integration says; it stands in one of three places and goes by two names."""
    raw = response.raw
    places = (
        response.additional_kwargs,
        response.message.additional_kwargs,
        _value(raw, "usage"),
    )
    for place in places:
        for names in _COUNTS:
            usage = counted(*(_value(place, name) for name in names))
            if usage.calls:
                return usage
    return Usage(money=None)


def _value(place: Any, name: str) -> Any:
    return place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
