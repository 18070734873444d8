"""The conversation in a LangGraph ``StateGraph``: advisor node, wrapped model node, tool node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skillcue.extras import require

require("langgraph.graph", "langgraph", "langgraph")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from skillcue import SkillCue
from skillcue.demo.records import PulledSkill, TurnLog
from skillcue.langgraph import SkillAdvisor

__all__ = ["build_graph", "play"]


def build_graph(cue: SkillCue, llm: BaseChatModel) -> Any:
    """A chat graph with skills, compiled with a memory of its own."""
    advisor = SkillAdvisor(cue)
    model = llm.bind_tools(advisor.tools())

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("skills", advisor)
    builder.add_node("model", advisor.wrap(call_model))
    builder.add_node("tools", ToolNode(advisor.tools()))
    builder.add_edge(START, "skills")
    builder.add_edge("skills", "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def play(
    cue: SkillCue, llm: BaseChatModel, texts: Sequence[str], shown: Callable[[TurnLog], object]
) -> tuple[TurnLog, ...]:
    """Let the agent answer each of the user's texts, in one thread.

    Args:
        cue: The library.
        llm: Plays the agent.
        texts: User messages.
        shown: Called with each turn when it is over.
    """
    app = build_graph(cue, llm)
    turns = []
    for text in texts:
        turns.append(_turn(app, text))
        shown(turns[-1])
    return tuple(turns)


def _turn(app: Any, text: str) -> TurnLog:
    log = TurnLog(text)
    arguments: dict[str, Any] = {}
    config = {"configurable": {"thread_id": "demo"}}
    start = {"messages": [HumanMessage(text)]}
    for kind, part in app.stream(start, config, stream_mode=["custom", "updates"]):
        if kind == "custom":
            if isinstance(part, dict) and part.get("type") == "skill_advice":
                log.push = part
            continue
        for update in part.values():
            for message in (update or {}).get("messages", ()):
                _note(message, arguments, log)
    return log


def _note(message: Any, arguments: dict[str, Any], log: TurnLog) -> None:
    if isinstance(message, AIMessage):
        arguments.update({str(call["id"]): call["args"] for call in message.tool_calls})
        log.reply = str(message.text)
    elif isinstance(message, ToolMessage):
        log.pulls.append(
            PulledSkill.of(
                str(message.name),
                arguments.get(message.tool_call_id, {}),
                str(message.text),
                message.status == "error",
            )
        )
