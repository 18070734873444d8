"""The server as LangChain's and LlamaIndex's own MCP clients see it, with an agent each."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httpx2
import pytest

QUESTION = "Merge these two pdf files"


# LangChain


def langchain_adapter(target: Any) -> Any:
    """`MCPAdapter`, without the warning that it is young."""
    api = pytest.importorskip("langchain_core._api")
    pytest.importorskip("fastmcp")
    with api.suppress_langchain_beta_warning():
        from langchain.mcp import MCPAdapter
    return MCPAdapter(target)


def langchain_model() -> Any:
    models = pytest.importorskip("support.langchain_models")
    return models.StrictChatModel(
        script=[
            models.call("skill_lookup", query="merge two pdf files", k=1),
            models.call("skill_load", "call-2", name="pdf-merge-split"),
            "merged",
        ]
    )


async def run_langchain_agent(adapter: Any) -> list[Any]:
    from langchain.agents import create_agent

    async with adapter:
        agent = create_agent(langchain_model(), tools=await adapter.list_tools())
        state = await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]})
    return list(state["messages"])


def text_of(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(block["text"] for block in message.content)


async def test_a_langchain_agent_over_http_with_a_header(served):
    fastmcp = pytest.importorskip("fastmcp")
    from fastmcp.client.transports import StreamableHttpTransport

    transport = StreamableHttpTransport(served.url, headers={"X-Skill-Method": "dense"})
    messages = await run_langchain_agent(langchain_adapter(fastmcp.Client(transport)))
    lookup, load = (message for message in messages if message.type == "tool")
    assert "1. pdf-merge-split:" in text_of(lookup)
    assert "dense" in str(lookup.artifact)  # the structured content, from the header's mode
    assert "qpdf" in text_of(load)
    assert len(text_of(load)) < 10_000
    assert messages[-1].content == "merged"


async def test_a_langchain_agent_in_one_process(cue):
    from skillcue.mcp import skill_server

    messages = await run_langchain_agent(langchain_adapter(skill_server(cue)))
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert "bm25" in str(messages[2].artifact)


async def test_a_wrong_name_is_a_tool_message_that_the_model_can_act_on(cue):
    models = pytest.importorskip("support.langchain_models")
    from langchain.agents import create_agent

    from skillcue.mcp import skill_server

    model = models.StrictChatModel(
        script=[models.call("skill_load", name="pdf-merge-splitt"), "ok"]
    )
    async with langchain_adapter(skill_server(cue)) as adapter:
        agent = create_agent(model, tools=await adapter.list_tools())
        state = await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]})
    (answer,) = (message for message in state["messages"] if message.type == "tool")
    assert answer.status == "error"
    assert "pdf-merge-split" in text_of(answer)


# LlamaIndex


async def run_llamaindex_agent(client: Any) -> tuple[str, list[Any]]:
    models = pytest.importorskip("support.llamaindex_models")
    tools_mcp = pytest.importorskip("llama_index.tools.mcp")
    from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult

    tools = await tools_mcp.McpToolSpec(client).to_tool_list_async()
    llm = models.StrictLlm(
        script=[
            models.call("skill_lookup", query="merge two pdf files", k=1),
            models.call("skill_load", "call-2", name="pdf-merge-split"),
            "merged",
        ]
    )
    handler = FunctionAgent(llm=llm, tools=tools).run(user_msg=QUESTION)
    results = [
        event async for event in handler.stream_events() if isinstance(event, ToolCallResult)
    ]
    return str(await handler), results


async def test_a_llamaindex_agent_over_http(served):
    tools_mcp = pytest.importorskip("llama_index.tools.mcp")
    async with httpx2.AsyncClient(headers={"X-Skill-Method": "dense"}) as web:
        client = tools_mcp.BasicMCPClient(served.url, http_client=web)
        said, (lookup, load) = await run_llamaindex_agent(client)
    assert said == "merged"
    assert "1. pdf-merge-split:" in str(lookup.tool_output.content)
    assert lookup.tool_output.raw_output.structured_content["mode"] == "dense"
    assert "qpdf" in str(load.tool_output.content)


async def test_a_llamaindex_agent_over_stdio(example_skills):
    tools_mcp = pytest.importorskip("llama_index.tools.mcp")
    from support.mcp_clients import command, environment

    start = command("--skills", example_skills, "--mode", "bm25")
    assert start[0] == sys.executable
    client = tools_mcp.BasicMCPClient(start[0], args=start[1:], env=environment())
    said, results = await asyncio.wait_for(run_llamaindex_agent(client), 120)
    assert said == "merged"
    assert len(results) == 2
