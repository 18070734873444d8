"""``with_skills``: pull tools and push advice for LlamaIndex agents and workflows.

Push overrides ``take_step``, the one method that every agent runs for each model call, alone or in
a workflow, and that gets the request as a list apart from the memory.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent, ReActAgent
from llama_index.core.agent.workflow.codeact_agent import CodeActAgent
from llama_index.core.base.llms.types import ChatMessage

from skillcue.extras import checked_cue
from skillcue.llamaindex_messages import add_nudges, place_advice, read_request
from skillcue.llamaindex_run import (
    RECORDS_KEY,
    RUN_MODE_KEY,
    SkillAdviceEvent,
    policy_context,
    store_mode,
    turn_has_begun,
    user_text,
)
from skillcue.llamaindex_tools import SkillToolSpec, bound_load_tool
from skillcue.mode import MODE_KEY
from skillcue.nudges import system_nudge
from skillcue.placement import Placement
from skillcue.push.advisor import Advisor
from skillcue_hooks.errors import (
    AttachError,
    ConfigurationError,
    MissingExtraError,
    UnknownSettingError,
)

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["attach_agent", "with_skills"]

log = logging.getLogger("skillcue.llamaindex")

TargetT = TypeVar("TargetT", bound=BaseWorkflowAgent | AgentWorkflow)

_OPTIONS = ("placement", "prefix", "pull", "push")


def with_skills(
    target: TargetT,
    cue: SkillCue,
    *,
    push: bool = True,
    pull: bool = True,
    prefix: str = "",
    placement: Placement = "inline",
) -> TargetT:
    """A copy of an agent, or of a workflow and all its agents, with skills.

    The copy also takes ``run(..., skill_mode="...")``, for that run only. What is given as
    ``target`` stays as it is, and so does the memory: advice is put into a copy of each request.

    Args:
        target: A ``FunctionAgent``, ``ReActAgent``, ``CodeActAgent`` or another workflow agent, or
            an ``AgentWorkflow``.
        cue: The library.
        push: Advise on user turns.
        pull: Bring the three tools.
        prefix: Put in front of the tools' names, for two libraries in one workflow.
        placement: ``inline`` puts advice into the user message, ``own_message`` behind it.

    Raises:
        AttachError: `target` is something else, or has skills already.
        ConfigurationError: An agent has a tool of its own under one of the tools' names, or takes
            no tools that need a context.
    """
    if placement not in get_args(Placement):
        raise ConfigurationError(
            f"placement is {placement!r}.", f"Use one of {', '.join(get_args(Placement))}."
        )
    hookup = _Hookup(cue, push=push, pull=pull, prefix=prefix, placement=placement)
    if isinstance(target, AgentWorkflow):
        return cast(TargetT, _skilled_workflow(target, hookup))
    if isinstance(target, BaseWorkflowAgent):
        return cast(TargetT, _skilled_agent(target, hookup))
    raise AttachError(
        f"{type(target).__name__} is no LlamaIndex agent.",
        "Pass a FunctionAgent, ReActAgent, CodeActAgent or AgentWorkflow.",
    )


def attach_agent(target: Any, cue: SkillCue, options: Mapping[str, Any]) -> Any | None:
    """What ``cue.attach(target, **options)`` gives for LlamaIndex: see `with_skills`.

    Args:
        target: An agent or an ``AgentWorkflow``; anything else is passed (None).
        cue: The library.
        options: ``push``, ``pull``, ``prefix`` and ``placement``.

    Raises:
        UnknownSettingError: An option that does not exist.
    """
    if not isinstance(target, BaseWorkflowAgent | AgentWorkflow):
        return None
    for option in options:
        if option not in _OPTIONS:
            raise UnknownSettingError(option, _OPTIONS)
    return with_skills(target, cue, **options)


class _Hookup:
    """What the agents of one `with_skills` call share; holds nothing about any run."""

    def __init__(
        self, cue: SkillCue, *, push: bool, pull: bool, prefix: str, placement: Placement
    ) -> None:
        self.cue = checked_cue(cue)
        self.push = push
        self.tools: Sequence[Any] = SkillToolSpec(cue, prefix).to_tool_list() if pull else ()
        self.names = cue.tools(prefix)
        self.nudge = bool(cue.nudge and pull and not push)
        self.owner: Any = None
        self._records_key = f"{prefix}{RECORDS_KEY}"
        self._own_message = placement == "own_message"
        self._advisors: dict[str | None, Advisor] = {}

    async def begin(self, ctx: Any, event: Any) -> None:
        """Take note of ``run(skill_mode=...)``, and forget the one of the run before.

        Raises:
            UnknownModeError: The mode is not registered.
        """
        given = getattr(event, MODE_KEY, None)
        mode = None if given is None else self.cue.check_mode(str(given))
        if mode is not None or await ctx.store.get(RUN_MODE_KEY, default=None) is not None:
            await ctx.store.set(RUN_MODE_KEY, mode)

    async def prepare(
        self, ctx: Any, request: list[ChatMessage], tools: Sequence[Any], *, system: bool
    ) -> list[ChatMessage]:
        """The request as the model gets it.

        Args:
            ctx: The run's context.
            request: The input of the step; not changed.
            tools: The tools of the step.
            system: The agent sends a system message of the request.

        Raises:
            ConfigurationError: Such as an unknown mode. Other failures give no advice.
        """
        mode = await store_mode(ctx.store)
        if mode is not None:
            self.cue.check_mode(mode)
        if self.nudge:
            return add_nudges(request, self.names.lookup_name, self.names.load_name, system=system)
        if not self.push:
            return request
        try:
            return await self._advised(ctx, request, tools, mode)
        except (ConfigurationError, MissingExtraError):
            raise
        except Exception:  # push fails open: an agent must not stop for want of advice
            log.exception("push failed; the request goes on without advice")
            return request

    async def _advised(
        self, ctx: Any, request: list[ChatMessage], tools: Sequence[Any], mode: str | None
    ) -> list[ChatMessage]:
        view = read_request(
            request, await user_text(ctx.store), getattr(self.owner, "state_prompt", None)
        )
        records = await ctx.store.get(self._records_key, default=None)
        plan = await asyncio.to_thread(
            self._advisor(bound_load_tool(self.cue, tools)).plan,
            view.messages,
            mode=mode,
            records=records,
            run_context=await policy_context(ctx.store),
            begun=await turn_has_begun(ctx.store),
        )
        if plan.records and plan.records != records:
            await ctx.store.set(self._records_key, dict(plan.records))
        if plan.fresh:
            ctx.write_event_to_stream(SkillAdviceEvent.of(plan))
        return place_advice(request, view, plan.placements, self._own_message)

    def _advisor(self, load_tool: str | None) -> Advisor:
        """The advisor for agents whose load tool is `load_tool`; advice must not name another."""
        if load_tool not in self._advisors:
            self._advisors.setdefault(load_tool, self.cue.advisor(load_tool))
        return self._advisors[load_tool]


class _SkilledAgent:
    """Mixed in front of an agent's class."""

    __slots__ = ()

    _skillcue: _Hookup

    async def take_step(self, ctx: Any, llm_input: Any, tools: Any, memory: Any) -> Any:
        request = await self._skillcue.prepare(
            ctx, list(llm_input), tools, system=not isinstance(self, ReActAgent)
        )
        return await super().take_step(ctx, request, tools, memory)  # type: ignore[misc]  # the agent's

    async def _init_context(self, ctx: Any, ev: Any) -> None:
        await self._skillcue.begin(ctx, ev)
        await super()._init_context(ctx, ev)  # type: ignore[misc]  # the agent's


class _SkilledWorkflow:
    """Mixed in front of a workflow's class: a workflow starts runs, its agents take the steps."""

    __slots__ = ()

    _skillcue: _Hookup

    async def _init_context(self, ctx: Any, ev: Any) -> None:
        await self._skillcue.begin(ctx, ev)
        await super()._init_context(ctx, ev)  # type: ignore[misc]  # the workflow's


def _skilled_workflow(workflow: Any, hookup: _Hookup) -> Any:
    if isinstance(workflow, _SkilledWorkflow):
        raise AttachError("This workflow has skills already.", "Call with_skills once.")
    base: Any = type(workflow)
    skilled = object.__new__(_mixed_class(_SkilledWorkflow, base))
    skilled.__dict__.update(workflow.__dict__)
    skilled.agents = {
        name: _skilled_agent(agent, hookup) for name, agent in workflow.agents.items()
    }
    return _hooked(skilled, hookup)


def _skilled_agent(agent: Any, hookup: _Hookup) -> Any:
    name = agent.name
    base: Any = type(agent)
    if isinstance(agent, _SkilledAgent):
        raise AttachError(
            f"Agent {name!r} has skills already.",
            "Call with_skills once, on the agents or on their workflow.",
        )
    skilled = agent.model_copy()
    if hookup.tools:
        _check_tools(agent, hookup)
        skilled.tools = [*(agent.tools or []), *hookup.tools]
    if hookup.nudge and isinstance(agent, ReActAgent):
        skilled.formatter = _nudged_formatter(agent.formatter, hookup)
    skilled.__class__ = _mixed_class(_SkilledAgent, base)
    return _hooked(skilled, hookup)


def _hooked(skilled: Any, hookup: _Hookup) -> Any:
    skilled._skillcue = hookup
    hookup.owner = skilled  # for a workflow the workflow, which comes last: its prompts count
    return skilled


@functools.cache
def _mixed_class(mixin: type, base: Any) -> Any:
    """`base` with `mixin` in front, under the same name, by which LlamaIndex names workflows."""
    names = {"__module__": base.__module__, "__qualname__": base.__qualname__}
    return type(base)(base.__name__, (mixin, base), {**names, "__doc__": base.__doc__})


def _check_tools(agent: Any, hookup: _Hookup) -> None:
    if isinstance(agent, CodeActAgent):
        raise ConfigurationError(
            f"Agent {agent.name!r} is a CodeActAgent, which takes no tools that need a context.",
            "Pass pull=False: advice then names the files to read.",
        )
    taken = {tool.metadata.name for tool in agent.tools or ()}
    for tool in hookup.tools:
        if tool.metadata.name in taken:
            raise ConfigurationError(
                f"Agent {agent.name!r} has a tool named {tool.metadata.name!r} already.",
                'Pass prefix="my_" to give ours another name, or pull=False if it is ours.',
            )


def _nudged_formatter(formatter: Any, hookup: _Hookup) -> Any:
    """A copy of a ReAct formatter with the system nudge: a ReAct agent writes its own prompt."""
    nudge = system_nudge(hookup.names.lookup_name, hookup.names.load_name)
    header = getattr(formatter, "system_header", None)
    if not isinstance(header, str):
        return formatter
    escaped = nudge.replace("{", "{{").replace("}", "}}")
    return formatter.model_copy(update={"system_header": f"{header.rstrip()}\n\n{escaped}\n"})
