"""A LangChain chat model as a LlamaIndex model, so that one model serves both frameworks.

Tools are called for real, through ``bind_tools``. Each answer keeps the LangChain message it was
made from, so that what a provider wants to see again (signatures, reasoning) goes back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
    TextBlock,
)
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import BaseTool
from pydantic import Field

__all__ = ["LangChainLLM", "from_langchain", "to_langchain"]

_ORIGINAL = "langchain_message"
"""Key in ``additional_kwargs`` of the LangChain message an answer was made from."""


class LangChainLLM(FunctionCallingLLM):
    """A ``FunctionCallingLLM`` around any LangChain chat model with tool calling.

    Text and tool calls only: a message with another kind of content is a ``TypeError``.
    """

    model: Any = Field(exclude=True, repr=False)

    def __init__(self, model: BaseChatModel, **kwargs: Any) -> None:
        super().__init__(model=model, **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class in logs and serialised settings."""
        return "LangChainLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex needs to know about the model."""
        name = getattr(self.model, "model_name", None) or getattr(self.model, "model", None)
        return LLMMetadata(
            is_chat_model=True,
            is_function_calling_model=True,
            model_name=str(name or self.model._llm_type),
        )

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """One answer."""
        runnable, options = self._runnable(kwargs)
        return _response(runnable.invoke(to_langchain(messages), **options))

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """One answer, asynchronously."""
        runnable, options = self._runnable(kwargs)
        return _response(await runnable.ainvoke(to_langchain(messages), **options))

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """The answer as it grows."""
        runnable, options = self._runnable(kwargs)

        def grow() -> ChatResponseGen:
            whole: Any = None
            for chunk in runnable.stream(to_langchain(messages), **options):
                whole = chunk if whole is None else whole + chunk
                yield _response(whole, str(chunk.text))

        return grow()

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """The answer as it grows, asynchronously."""
        runnable, options = self._runnable(kwargs)

        async def grow() -> ChatResponseAsyncGen:
            whole: Any = None
            async for chunk in runnable.astream(to_langchain(messages), **options):
                whole = chunk if whole is None else whole + chunk
                yield _response(whole, str(chunk.text))

        return grow()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer to `prompt` as a user message."""
        return _completion(self.chat([ChatMessage(prompt)], **kwargs))

    @llm_completion_callback()
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """The answer to `prompt` as a user message, asynchronously."""
        return _completion(await self.achat([ChatMessage(prompt)], **kwargs))

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """The answer to `prompt` as it grows."""
        answers: Iterator[ChatResponse] = self.stream_chat([ChatMessage(prompt)], **kwargs)
        return (_completion(answer) for answer in answers)

    @llm_completion_callback()
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """The answer to `prompt` as it grows, asynchronously."""
        answers: AsyncIterator[ChatResponse] = await self.astream_chat(
            [ChatMessage(prompt)], **kwargs
        )
        return (_completion(answer) async for answer in answers)

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """The tool calls of an answer.

        Raises:
            ValueError: There are none, unless `error_on_no_tool_call` is False.
        """
        calls = response.message.additional_kwargs.get("tool_calls", [])
        if not calls and error_on_no_tool_call:
            raise ValueError("The model called no tool.")
        return [
            ToolSelection(
                tool_id=call["id"],
                tool_name=call["function"]["name"],
                tool_kwargs=json.loads(call["function"]["arguments"]),
            )
            for call in calls
        ]

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            messages.append(ChatMessage(user_msg) if isinstance(user_msg, str) else user_msg)
        prepared: dict[str, Any] = {
            "messages": messages,
            "tools": [tool.metadata.to_openai_tool() for tool in tools],
            **kwargs,
        }
        if tool_required:
            prepared["tool_choice"] = "any"
        return prepared

    def _runnable(self, kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """(model with its tools bound, the other options)."""
        options = dict(kwargs)
        tools = options.pop("tools", None)
        choice = options.pop("tool_choice", None)
        if not tools:
            return self.model, options
        chosen = {"tool_choice": choice} if choice else {}
        return self.model.bind_tools(tools, **chosen), options


def to_langchain(messages: Sequence[ChatMessage]) -> list[BaseMessage]:
    """LlamaIndex messages as LangChain messages; own answers as the messages they were made from.

    Raises:
        TypeError: A message holds something that is not text.
    """
    return [_to_langchain(message) for message in messages]


def from_langchain(message: AIMessage) -> ChatMessage:
    """An answer of a LangChain model as a LlamaIndex message."""
    text = str(message.text)
    extra: dict[str, Any] = {_ORIGINAL: message_to_dict(message)}
    if message.tool_calls:
        extra["tool_calls"] = [
            {
                "id": call["id"] or f"call-{number}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
            }
            for number, call in enumerate(message.tool_calls)
        ]
    return ChatMessage(role=MessageRole.ASSISTANT, content=text, additional_kwargs=extra)


def _to_langchain(message: ChatMessage) -> BaseMessage:
    original = message.additional_kwargs.get(_ORIGINAL)
    if original:
        return messages_from_dict([original])[0]
    text = "\n\n".join(_text(block) for block in message.blocks)
    if message.role in (MessageRole.SYSTEM, MessageRole.DEVELOPER):
        return SystemMessage(text)
    if message.role in (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL):
        return AIMessage(text)
    if message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
        return ToolMessage(text, tool_call_id=str(message.additional_kwargs.get("tool_call_id")))
    return HumanMessage(text)


def _text(block: Any) -> str:
    if not isinstance(block, TextBlock):
        raise TypeError(f"{type(block).__name__} cannot be passed on; only text can.")
    return block.text


def _response(message: BaseMessage, delta: str | None = None) -> ChatResponse:
    whole = message_chunk_to_message(message) if isinstance(message, AIMessageChunk) else message
    assert isinstance(whole, AIMessage)  # what every chat model answers with
    return ChatResponse(message=from_langchain(whole), delta=delta)


def _completion(response: ChatResponse) -> CompletionResponse:
    return CompletionResponse(text=response.message.content or "", delta=response.delta)
