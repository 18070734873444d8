"""LangGraph: ``SkillAdvisor`` for any ``StateGraph``, and ``cue.attach(builder)``.

The node decides once a user turn and leaves a small record on a private channel; the wrapper puts
the advice into what the model node sees. Either works without the other: the wrapper works the
decision out itself when it finds none (after a resume, or without a node), the node only adds a
record that survives a restart, and a step that can be seen.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_type_hints

from skillcue.extras import checked_cue, require

require("langgraph.graph", "langgraph", "langgraph")

from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.channels import UntrackedValue

from skillcue.langchain_nudge import nudged
from skillcue.langchain_run import advice_event, current_run
from skillcue.langchain_state import RECORDS_KEY
from skillcue.langchain_tools import skill_tools
from skillcue.langgraph_state import (
    extended_schema,
    node_schema,
    read_key,
    stripped_output,
    with_messages,
)
from skillcue.langgraph_vectors import from_store
from skillcue.placement import Placement, own_advice_message, place
from skillcue.push.advisor import Plan

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["SkillAdvisor", "from_store", "skill_tools"]

ADVICE_KEY = "skillcue_advice"
"""Private channel with the newest decision: seen in ``stream_mode="updates"``, never stored."""

NodeT = TypeVar("NodeT")


class SkillAdvisor:
    """A graph node that decides on each user turn, and a wrapper for the node that calls a model.

    Args:
        cue: The library.
        messages_key: State key of the messages.
        push: Advise. False leaves the pull tools, and adds the two nudges if the cue has them on.
        pull: The model has the tools of `tools`; False names files instead of the load tool.
        prefix: Put in front of the tools' names, for two libraries in one graph.
        placement: ``inline`` puts advice into the user message, ``own_message`` behind it.

    Example:
        >>> advisor = SkillAdvisor(cue)                                    # doctest: +SKIP
        >>> builder.add_node("skills", advisor)                            # doctest: +SKIP
        >>> builder.add_node("model", advisor.wrap(call_model))            # doctest: +SKIP
    """

    def __init__(
        self,
        cue: SkillCue,
        *,
        messages_key: str = "messages",
        push: bool = True,
        pull: bool = True,
        prefix: str = "",
        placement: Placement = "inline",
    ) -> None:
        self._cue = checked_cue(cue)
        self._push = push
        self._messages_key = messages_key
        self._records_key = f"{prefix}{RECORDS_KEY}"
        self._advice_key = f"{prefix}{ADVICE_KEY}"
        self._own_message = own_advice_message if placement == "own_message" else None
        self._pull = cue.tools(prefix)
        self._tools = skill_tools(cue, prefix=prefix, messages_key=messages_key)
        self._advisor = cue.advisor(self._pull.load_name if pull else None)
        # LangGraph reads a node's input schema from the type hint of its first parameter. A
        # hint that depends on names needs a class of its own.
        self.__class__ = _with_schema(messages_key, self._records_key, self._advice_key)

    def __call__(self, state: Any) -> dict[str, Any]:
        """The node: one decision a user turn, on private channels, messages untouched."""
        plan = self._plan(state)
        return {self._records_key: dict(plan.records), self._advice_key: advice_event(plan)}

    def tools(self) -> list[BaseTool]:
        """``skill_lookup``, ``skill_load`` and ``skill_list``: always the same objects."""
        return list(self._tools)

    def wrap(self, node: NodeT) -> NodeT:
        """The model node, seeing its messages with the advice in them.

        What it returns is stripped of advice, so that a node that returns the whole list does
        not store any.

        Args:
            node: A function, a coroutine function, a callable object or a Runnable.
        """
        if isinstance(node, Runnable):
            before = RunnableLambda(self._advised_state, afunc=self._aadvised_state)
            after = RunnableLambda(self._strip)
            return cast(NodeT, before | node | after)
        return cast(NodeT, self._wrapped(cast(Callable[..., Any], node)))

    def messages(self, messages: list[Any]) -> list[Any]:
        """`messages` with the advice in them, for code that builds requests by itself.

        Example:
            ``create_react_agent(model, tools, prompt=lambda s: advisor.messages(s["messages"]))``
        """
        return self._request(messages, None)

    def _wrapped(self, node: Callable[..., Any]) -> Callable[..., Any]:
        inner: Callable[..., Any]
        if inspect.iscoroutinefunction(node) or inspect.iscoroutinefunction(
            getattr(node, "__call__", None)  # noqa: B004  # a callable object may be async inside
        ):

            async def inner(state: Any, *args: Any, **kwargs: Any) -> Any:
                output = await node(await self._aadvised_state(state), *args, **kwargs)
                return self._strip(output, state)
        else:

            def inner(state: Any, *args: Any, **kwargs: Any) -> Any:
                return self._strip(node(self._advised_state(state), *args, **kwargs), state)

        functools.update_wrapper(inner, node)
        inner.__annotations__ = self._annotations(node)
        return inner

    def _annotations(self, node: Callable[..., Any]) -> dict[str, Any]:
        """Type hints of the node, its state extended by the records channel where that works."""
        function = node if inspect.isroutine(node) else node.__call__  # type: ignore[operator]  # any callable
        try:
            hints = get_type_hints(function, include_extras=True)
            first = next(iter(inspect.signature(node).parameters))
        except (NameError, TypeError, ValueError, StopIteration):
            return dict(getattr(node, "__annotations__", {}))
        extended = extended_schema(hints.get(first), self._records_key)
        return {**hints, first: extended} if extended else hints

    def _advised_state(self, state: Any) -> Any:
        request = self._request(self._messages(state), self._records(state))
        return with_messages(state, self._messages_key, request, hidden=self._records_key)

    async def _aadvised_state(self, state: Any) -> Any:
        return await asyncio.to_thread(self._advised_state, state)

    def _strip(self, output: Any, state: Any = None) -> Any:
        """What the node returned, without advice, where it goes into the state.

        A list that answers a state that is no list cannot be an update: it is a request, as
        ``prompt`` callables of prebuilt agents make, and keeps its advice.
        """
        is_request = isinstance(output, list) and all(hasattr(item, "content") for item in output)
        if is_request and not isinstance(state, list):
            return output
        return stripped_output(output, self._messages_key)

    def _request(self, messages: list[Any], records: Any) -> list[Any]:
        """What the model is sent."""
        plan = self._planned(messages, records)
        if not self._push and self._cue.nudge:
            return nudged(messages, self._pull)
        return place(messages, plan.placements, self._own_message)

    def _plan(self, state: Any) -> Plan:
        return self._planned(self._messages(state), self._records(state))

    def _planned(self, messages: list[Any], records: Any) -> Plan:
        run = current_run()
        if not self._push:
            if run.mode:
                self._cue.check_mode(run.mode)
            return Plan()
        plan = self._advisor.plan(messages, mode=run.mode, records=records, run_context=run.context)
        if plan.fresh:
            run.write(advice_event(plan))
        return plan

    def _records(self, state: Any) -> Any:
        return None if isinstance(state, list) else read_key(state, self._records_key)

    def _messages(self, state: Any) -> list[Any]:
        if isinstance(state, list):
            return state
        found = read_key(state, self._messages_key)
        return found if isinstance(found, list) else []


@functools.cache
def _with_schema(messages_key: str, records_key: str, advice_key: str) -> type[SkillAdvisor]:
    """`SkillAdvisor` whose node declares the messages and the private channels."""

    def call(self: SkillAdvisor, state: Any) -> dict[str, Any]:
        return SkillAdvisor.__call__(self, state)

    private = {advice_key: Annotated[dict[str, Any], UntrackedValue]}
    call.__annotations__["state"] = node_schema(messages_key, records_key, private)
    call.__doc__ = SkillAdvisor.__call__.__doc__
    body = {"__call__": call, "__module__": __name__, "__doc__": SkillAdvisor.__doc__}
    return type("SkillAdvisor", (SkillAdvisor,), body)
