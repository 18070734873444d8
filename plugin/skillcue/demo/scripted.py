"""A chat model without a model: a few rules that play an agent for demonstrations.

It does what a well-behaved model does with skills, and nothing else: it loads the first skill it is
offered, searches when it is asked to, and says in one line what it would follow.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from skillcue.push.messages import ADVICE_OPEN, strip_advice, view_messages

__all__ = ["ScriptedChatModel"]

_OFFER = re.compile(r"\[(?P<tool>\w+)\(name=(?P<name>\"(?:[^\"\\]|\\.)*\")\)\]")
_ASKS_TO_SEARCH = re.compile(
    r"\b(find|search|look for|list|show|which|what|is there|are there)\b[^.!?]{0,80}\bskills?\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LOADED = re.compile(r"\A\[skill (?P<id>.+?) version ")
_FOUND = re.compile(r"^\d+\. (?P<name>.+?): ", re.MULTILINE)


class ScriptedChatModel(BaseChatModel):
    """Rules instead of a model; each looks at the last message of the request only.

    ==================================================  ==========================================
    user message with advice, load tool bound           calls it for the first offered skill
    user message that asks for skills, lookup bound     calls it with the message
    result of a tool                                    names the skill and its first step
    anything else                                       says that there is nothing to load
    ==================================================  ==========================================
    """

    @property
    def _llm_type(self) -> str:
        return "skillcue-scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools it may call; ``tool_choice`` is not looked at."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = {tool["function"]["name"] for tool in kwargs.get("tools", ())}
        reply = _reply(messages, tools)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _reply(messages: Sequence[BaseMessage], tools: set[str]) -> AIMessage:
    last = messages[-1]
    text = view_messages([last])[0].text
    if isinstance(last, ToolMessage):
        return AIMessage(_about_result(text))
    if isinstance(last, HumanMessage):
        call = _load_offer(text, tools) or _search(text, tools)
        if call:
            name, arguments = call
            # The position is unique in a conversation, and the same in each run of it.
            tool_call = {"name": name, "args": arguments, "id": f"call-{len(messages)}"}
            return AIMessage("", tool_calls=[tool_call])
    return AIMessage("There is nothing to load; a real model would answer here.")


def _load_offer(text: str, tools: set[str]) -> tuple[str, dict[str, Any]] | None:
    """The call that the advice in `text` names for its first skill."""
    _, marker, advice = text.rpartition(ADVICE_OPEN)
    offer = _OFFER.search(html.unescape(advice)) if marker else None
    if offer is None or offer["tool"] not in tools:
        return None
    return offer["tool"], {"name": json.loads(offer["name"])}


def _search(text: str, tools: set[str]) -> tuple[str, dict[str, Any]] | None:
    lookup = next((tool for tool in sorted(tools) if tool.endswith("skill_lookup")), None)
    asked = strip_advice(text)
    if lookup is None or not _ASKS_TO_SEARCH.search(asked):
        return None
    return lookup, {"query": " ".join(asked.split())}


def _about_result(text: str) -> str:
    """One line about the result of a tool."""
    loaded = _LOADED.match(text)
    if loaded:
        name = unquote(loaded["id"].partition("@")[0])
        return f"I follow {name}, which begins with: {_first_step(text)}."
    found = _FOUND.findall(text)
    if found:
        return f"The library has {', '.join(map(html.unescape, found))}."
    return " ".join(text.split("\n", 1)[0].split())


def _first_step(text: str) -> str:
    """The first heading below the title, or the title where there is no other."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    below = [title for level, title in headings if len(level) > 1]
    titles = below or [title for _, title in headings]
    return titles[0] if titles else "its first line"
