"""A LangGraph agent with skills. Run: python examples/langgraph_agent.py ["your question"]"""

from __future__ import annotations

import sys
from pathlib import Path

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from skillcue import SkillCue
from skillcue.demo.models import chat_model  # any chat model of LangChain will do
from skillcue.langgraph import SkillAdvisor

question = " ".join(sys.argv[1:]) or "I have a visa form as a PDF and my data in a table"

cue = SkillCue(Path(__file__).parent / "skills")
advisor = SkillAdvisor(cue)
model = chat_model().bind_tools(advisor.tools())


def call_model(state: MessagesState) -> dict:
    return {"messages": [model.invoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("skills", advisor)  # decides once per user turn
builder.add_node("model", advisor.wrap(call_model))  # the model sees the advice, the state does not
builder.add_node("tools", ToolNode(advisor.tools()))
builder.add_edge(START, "skills")
builder.add_edge("skills", "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
app = builder.compile()

inputs = {"messages": [{"role": "user", "content": question}]}
for kind, part in app.stream(inputs, stream_mode=["custom", "values"]):
    if kind == "custom":  # what the advisor decided
        print(f"advice: {part['decision']} {part['skills']} ({part['reason']})")
    else:
        last = part["messages"][-1]
        for call in getattr(last, "tool_calls", []):
            print(f"call:   {call['name']} {call['args']}")
print(f"answer: {last.text}")
cue.close()
