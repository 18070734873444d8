"""A scripted LlamaIndex function-calling model that refuses what real providers refuse."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr

from skillcue.push.messages import ADVICE_OPEN

__all__ = [
    "RejectedRequest",
    "StrictLlm",
    "advised_texts",
    "call",
    "calls_of",
    "check_request",
    "run_turn",
    "wire",
]


class RejectedRequest(ValueError):
    """What a provider answers with status 400."""


def check_request(messages: Sequence[ChatMessage]) -> None:
    """Raise for anything one of the strict providers or chat templates refuses."""
    pending: set[str] = set()
    spoke = ""
    for position, message in enumerate(messages):
        role = message.role.value
        if pending and role != "tool":
            raise RejectedRequest(f"message {position} stands between a tool call and its result")
        if role == "system":
            if position:
                raise RejectedRequest(f"system message at {position}, not first")
        elif role == "user":
            if spoke == "user":
                raise RejectedRequest(f"two user messages in a row at {position}")
            spoke = "user"
        elif role == "assistant":
            if spoke in ("", "assistant"):
                raise RejectedRequest(f"assistant speaks out of turn at {position}")
            spoke = "assistant"
            pending = {tool_call["id"] for tool_call in calls_of(message)}
        elif role == "tool":
            call_id = message.additional_kwargs.get("tool_call_id")
            if call_id not in pending:
                raise RejectedRequest(f"tool result without a call at {position}")
            pending.discard(call_id)
            spoke = "tool"
        else:
            raise RejectedRequest(f"unknown role {role!r} at {position}")
        if not message.blocks and not calls_of(message):
            raise RejectedRequest(f"empty message at {position}")
    if pending:
        raise RejectedRequest("a tool call has no result")
    if spoke not in ("user", "tool"):
        raise RejectedRequest("the last message is not the user's or a tool's")


def call(tool: str, call_id: str = "call-1", **arguments: Any) -> ChatMessage:
    """An assistant message that calls one tool, as OpenAI's integration writes it."""
    return ChatMessage(
        role=MessageRole.ASSISTANT,
        additional_kwargs={
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": tool, "arguments": json.dumps(arguments)},
                }
            ]
        },
    )


def calls_of(message: ChatMessage) -> list[dict[str, Any]]:
    """The calls of an assistant message: id, name, arguments. Old and new shape."""
    found = [
        {
            "id": c["id"],
            "name": c["function"]["name"],
            "args": json.loads(c["function"]["arguments"]),
        }
        for c in message.additional_kwargs.get("tool_calls") or ()
    ]
    for block in message.blocks:
        if getattr(block, "block_type", "") == "tool_call":
            found.append(
                {"id": block.tool_call_id, "name": block.tool_name, "args": block.tool_kwargs}
            )
    return found


def advised_texts(messages: Sequence[ChatMessage]) -> list[str]:
    """Texts of the messages that hold advice."""
    texts = [message.content or "" for message in messages]
    return [text for text in texts if ADVICE_OPEN in text]


async def run_turn(agent: Any, text: Any, **options: Any) -> tuple[Any, list[Any]]:
    """Run `agent` on one user message; (result, every event of the stream)."""
    handler = agent.run(user_msg=text, **options)
    events = [event async for event in handler.stream_events()]
    return await handler, events


def wire(messages: Sequence[ChatMessage]) -> str:
    """The request as text, one line a message: what prompt caching compares."""
    return "\n".join(
        json.dumps(
            [
                m.role.value,
                [b.model_dump(mode="json", exclude_none=True) for b in m.blocks],
                calls_of(m),
            ],
            ensure_ascii=False,
            sort_keys=True,
        )
        for m in messages
    )


class StrictLlm(FunctionCallingLLM):
    """Plays `script`, one entry a call, and keeps every request.

    An entry is a message, a text, an exception to raise, or a function of the request. When the
    script is used up the model answers "done".
    """

    script: list[Any] = []  # noqa: RUF012  # a pydantic field
    strict: bool = True
    function_calling: bool = True

    _requests: list[list[ChatMessage]] = PrivateAttr(default_factory=list)
    _tools: list[list[Any]] = PrivateAttr(default_factory=list)
    _options: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            context_window=128_000,
            is_chat_model=True,
            is_function_calling_model=self.function_calling,
            model_name="scripted",
        )

    @property
    def requests(self) -> list[list[ChatMessage]]:
        """Every request so far."""
        return self._requests

    @property
    def tools(self) -> list[list[Any]]:
        """The tools of every request."""
        return self._tools

    @property
    def options(self) -> list[dict[str, Any]]:
        """Further keyword arguments of every request, such as ``tool_choice``."""
        return self._options

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._reply(messages, kwargs))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages, **kwargs)

    def stream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> Generator[ChatResponse, None, None]:
        message = self._reply(messages, kwargs)
        yield from _chunks(message)

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        message = self._reply(messages, kwargs)

        async def chunks() -> AsyncGenerator[ChatResponse, None]:
            for chunk in _chunks(message):
                yield chunk

        return chunks()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError("agents chat")

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        raise NotImplementedError("agents chat")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError("agents chat")

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError("agents chat")

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: Any = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        assert user_msg is None, "agents send the whole history"
        return {"messages": list(chat_history or []), "tools": list(tools), **kwargs}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=c["id"], tool_name=c["name"], tool_kwargs=c["args"])
            for c in calls_of(response.message)
        ]

    def _reply(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> ChatMessage:
        if self.strict:
            check_request(messages)
        self._requests.append([m.model_copy(deep=True) for m in messages])
        self._tools.append(kwargs.pop("tools", []))
        self._options.append(kwargs)
        entry = self.script.pop(0) if self.script else "done"
        if isinstance(entry, Exception):
            raise entry
        if callable(entry):
            entry = entry(messages)
        if isinstance(entry, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=entry)
        return entry


def _chunks(message: ChatMessage) -> Generator[ChatResponse, None, None]:
    """Two pieces: half of the text, then the whole message with its calls."""
    text = message.content or ""
    half = text[: len(text) // 2]
    if half:
        partial = ChatMessage(role=MessageRole.ASSISTANT, content=half)
        yield ChatResponse(message=partial, delta=half)
    yield ChatResponse(message=message, delta=text[len(half) :])
