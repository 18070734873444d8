"""``cue.attach(builder)``: skillcue inserted into a graph that already stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langgraph.graph import StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from skillcue.langgraph import SkillAdvisor
from skillcue_hooks.errors import AttachError, UnknownSettingError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["attach_graph"]

_OPTIONS = ("advisor", "messages_key", "model", "placement", "prefix", "tools")


def attach_graph(target: Any, cue: SkillCue, options: Mapping[str, Any]) -> Any | None:
    """Wrap the model node, add the advisor before it and the tools to the tool node.

    Args:
        target: A ``StateGraph`` builder; changed in place. Anything else is passed (None).
        cue: The library.
        options: ``model``: name of the node that calls the model (default ``"model"``);
            ``tools``: name of its ``ToolNode``, None for none; ``advisor``: name of the new node
            (default ``"skills"``); ``messages_key``, ``prefix`` and ``placement`` as in
            `SkillAdvisor`.

    Raises:
        AttachError: A compiled graph; a node that does not exist or is no ``ToolNode``; a name
            that is taken.
        UnknownSettingError: An option that does not exist.
    """
    if isinstance(target, Pregel):
        raise AttachError(
            "This graph is compiled and cannot be changed any more.",
            "Attach to the StateGraph before .compile(); for create_agent and deepagents pass "
            "middleware=[SkillMiddleware(cue)] from skillcue.langchain.",
        )
    if not isinstance(target, StateGraph):
        return None
    for option in options:
        if option not in _OPTIONS:
            raise UnknownSettingError(option, _OPTIONS)
    model, tools = options.get("model", "model"), options.get("tools")
    for node in filter(None, (model, tools)):
        if node not in target.nodes:
            raise AttachError(
                f"The graph has no node {node!r}.",
                f"Its nodes: {', '.join(sorted(target.nodes)) or 'none'}.",
            )
    name = options.get("advisor", "skills")
    if name in target.nodes:
        raise AttachError(f"The graph has a node {name!r} already.", 'Pass advisor="other_name".')
    passed = {k: options[k] for k in ("messages_key", "placement", "prefix") if k in options}
    advisor = SkillAdvisor(cue, pull=tools is not None, **passed)
    if tools is not None:
        _add_tools(target.nodes[tools].runnable, tools, advisor)
    spec = target.nodes[model]
    target.nodes[model] = dataclasses.replace(spec, runnable=advisor.wrap(spec.runnable))
    target.add_node(name, advisor)
    _enter_through(target, name, model, tools)
    return target


def _add_tools(node: Any, name: str, advisor: SkillAdvisor) -> None:
    if not isinstance(node, ToolNode):
        raise AttachError(
            f"Node {name!r} is a {type(node).__name__}, not a ToolNode.",
            "Put skill_tools(cue) into it yourself and leave `tools` out.",
        )
    for tool in advisor.tools():
        if tool.name in node.tools_by_name:
            raise AttachError(
                f"Node {name!r} has a tool named {tool.name!r} already.",
                'Pass prefix="my_" to give ours another name.',
            )
    node.tools_by_name.update({tool.name: tool for tool in advisor.tools()})


def _enter_through(graph: StateGraph[Any], advisor: str, model: str, tools: str | None) -> None:
    """Send the plain edges into the model through the advisor.

    Edges from the tool node stay (the decision of the turn is made), and so do conditional
    ones: the wrapped model node decides by itself when the advisor was passed by.
    """
    entering = {edge for edge in graph.edges if edge[1] == model and edge[0] != tools}
    graph.edges -= entering
    for start, _ in sorted(entering):
        graph.add_edge(start, advisor)
    graph.add_edge(advisor, model)
