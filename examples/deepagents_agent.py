"""A deep agent with skills. Run: python examples/deepagents_agent.py ["your question"]"""

from __future__ import annotations

import sys
from pathlib import Path

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend

from skillcue import SkillCue
from skillcue.demo.models import chat_model  # any chat model of LangChain will do
from skillcue.langchain import SkillMiddleware

SKILLS = Path(__file__).parent / "skills"
question = " ".join(sys.argv[1:]) or "I have a visa form as a PDF and my data in a table"

cue = SkillCue(SKILLS)
agent = create_deep_agent(
    chat_model(),
    backend=FilesystemBackend(root_dir=SKILLS, virtual_mode=True),
    # deepagents lists every skill in the system prompt. `skills` opens the slot of its own
    # middleware, and the name takes the place in it, in the general-purpose sub-agent as well.
    skills=["/"],
    middleware=[SkillMiddleware(cue, name="SkillsMiddleware")],
)

inputs = {"messages": [{"role": "user", "content": question}]}
for kind, part in agent.stream(inputs, stream_mode=["custom", "values"]):
    if kind == "custom":  # what the advisor decided
        print(f"advice: {part['decision']} {part['skills']} ({part['reason']})")
    else:
        last = part["messages"][-1]
        for call in getattr(last, "tool_calls", []):
            print(f"call:   {call['name']} {call['args']}")
print(f"answer: {last.text}")
cue.close()
