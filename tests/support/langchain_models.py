"""A scripted LangChain chat model that refuses what real providers refuse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr

__all__ = ["StrictChatModel", "call", "check_request", "wire"]

Reply = Callable[[list[BaseMessage]], AIMessage]


class RejectedRequest(ValueError):
    """What a provider answers with status 400."""


def check_request(messages: Sequence[BaseMessage]) -> None:
    """Raise for anything one of the strict providers or chat templates refuses."""
    pending: set[str] = set()
    spoke = ""
    for position, message in enumerate(messages):
        if pending and not isinstance(message, ToolMessage):
            raise RejectedRequest(f"message {position} stands between a tool call and its result")
        if isinstance(message, SystemMessage):
            if position:
                raise RejectedRequest(f"system message at {position}, not first")
        elif isinstance(message, HumanMessage):
            if spoke == "user":
                raise RejectedRequest(f"two user messages in a row at {position}")
            spoke = "user"
        elif isinstance(message, AIMessage):
            if spoke in ("", "assistant"):
                raise RejectedRequest(f"assistant speaks out of turn at {position}")
            spoke = "assistant"
            pending = {tool_call["id"] for tool_call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            if message.tool_call_id not in pending:
                raise RejectedRequest(f"tool result without a call at {position}")
            pending.discard(message.tool_call_id)
            spoke = "tool"
        empty = not message.content and not getattr(message, "tool_calls", None)
        if empty and not isinstance(message, SystemMessage):  # deepagents sends empty prompts
            raise RejectedRequest(f"empty message at {position}")
    if pending:
        raise RejectedRequest("a tool call has no result")
    if spoke not in ("user", "tool"):
        raise RejectedRequest("the last message is not the user's or a tool's")


def wire(messages: Sequence[BaseMessage]) -> str:
    """The request as text, one line a message: what prompt caching compares."""
    return "\n".join(
        json.dumps(
            [m.type, m.content, [[c["name"], c["args"]] for c in getattr(m, "tool_calls", [])]],
            ensure_ascii=False,
        )
        for m in messages
    )


def call(tool: str, call_id: str = "call-1", **arguments: Any) -> AIMessage:
    """An assistant message that calls one tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": call_id}])


class StrictChatModel(BaseChatModel):
    """Plays `script`, one entry a call, and keeps every request.

    An entry is a message, a text, or a function of the request. When the script is used up the
    model answers "done".
    """

    script: list[Any] = Field(default_factory=list)
    tool_names: list[str] = Field(default_factory=list)
    strict: bool = True

    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "strict-scripted"

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """Every request so far."""
        return self._requests

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.tool_names = [getattr(t, "name", None) or t["function"]["name"] for t in tools]
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._reply(messages)
        chunk = AIMessageChunk(
            content=reply.content,
            tool_call_chunks=[
                {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": i}
                for i, c in enumerate(reply.tool_calls)
            ],
        )
        if run_manager:
            run_manager.on_llm_new_token(
                str(reply.content), chunk=ChatGenerationChunk(message=chunk)
            )
        yield ChatGenerationChunk(message=chunk)

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        if self.strict:
            check_request(messages)
        with self._lock:
            self._requests.append([m.model_copy(deep=True) for m in messages])
            entry = self.script.pop(0) if self.script else "done"
        if callable(entry):
            entry = entry(messages)
        return AIMessage(entry) if isinstance(entry, str) else entry
