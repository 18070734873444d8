"""The conversation in a LlamaIndex ``FunctionAgent`` with skills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from skillcue.extras import require

require("llama_index.core", "llama-index-core", "llamaindex")

from langchain_core.language_models import BaseChatModel
from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.memory import ChatMemoryBuffer

from skillcue import SkillCue
from skillcue.demo.models import llama_llm
from skillcue.demo.records import PulledSkill, TurnLog
from skillcue.llamaindex import SkillAdviceEvent, with_skills

__all__ = ["play"]

MEMORY_TOKENS = 100_000
"""What the agent remembers of the conversation, tokens."""


def play(
    cue: SkillCue, llm: BaseChatModel, texts: Sequence[str], shown: Callable[[TurnLog], object]
) -> tuple[TurnLog, ...]:
    """Let the agent answer each of the user's texts, with one memory.

    Args:
        cue: The library.
        llm: Plays the agent.
        texts: User messages.
        shown: Called with each turn when it is over.
    """
    return asyncio.run(_play(cue, llm, texts, shown))


async def _play(
    cue: SkillCue, llm: BaseChatModel, texts: Sequence[str], shown: Callable[[TurnLog], object]
) -> tuple[TurnLog, ...]:
    agent = with_skills(FunctionAgent(llm=llama_llm(llm)), cue)
    memory = ChatMemoryBuffer.from_defaults(token_limit=MEMORY_TOKENS)
    turns = []
    for text in texts:
        turns.append(await _turn(agent, memory, text))
        shown(turns[-1])
    return tuple(turns)


async def _turn(agent: Any, memory: Any, text: str) -> TurnLog:
    log = TurnLog(text)
    handler = agent.run(user_msg=text, memory=memory)
    async for event in handler.stream_events():
        if isinstance(event, SkillAdviceEvent):
            log.push = event.model_dump()
        elif isinstance(event, ToolCallResult):
            output = event.tool_output
            log.pulls.append(
                PulledSkill.of(event.tool_name, event.tool_kwargs, output.content, output.is_error)
            )
        elif isinstance(event, AgentOutput):
            log.reply = event.response.content or ""
    await handler
    return log
