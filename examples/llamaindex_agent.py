"""A LlamaIndex agent with skills. Run: python examples/llamaindex_agent.py ["your question"]"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult

from skillcue import SkillCue
from skillcue.demo.models import llama_llm  # any function calling LLM of LlamaIndex will do
from skillcue.llamaindex import SkillAdviceEvent, with_skills

QUESTION = "I have a visa form as a PDF and my data in a table"


async def main(question: str) -> None:
    with SkillCue(Path(__file__).parent / "skills") as cue:
        agent = with_skills(FunctionAgent(llm=llama_llm()), cue)  # pull tools and push advice
        handler = agent.run(user_msg=question)  # skill_mode="..." chooses another mode
        async for event in handler.stream_events():
            if isinstance(event, SkillAdviceEvent):  # what the advisor decided
                print(f"advice: {event.decision} {event.skills} ({event.reason})")
            elif isinstance(event, ToolCallResult):
                print(f"call:   {event.tool_name} {event.tool_kwargs}")
        print(f"answer: {await handler}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or QUESTION))
