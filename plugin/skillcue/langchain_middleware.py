"""``SkillMiddleware``: pull tools and push advice for ``create_agent`` and deepagents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from skillcue.allowed_tools import ToolNames
from skillcue.extras import checked_cue
from skillcue.langchain_allowed_tools import EnforceAllowedTools, ToolGuard, tool_guard
from skillcue.langchain_nudge import nudged_system, nudged_user
from skillcue.langchain_run import advice_event, current_run
from skillcue.langchain_state import RECORDS_KEY, newer_records
from skillcue.langchain_tools import skill_tools
from skillcue.placement import Placement, own_advice_message, place
from skillcue.push.advisor import Advisor, Plan
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["SkillMiddleware"]


class SkillMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent the pull tools, and each model request the advice on its user turns.

    The advice is put into a copy of the request; stored state never holds it.

    Args:
        cue: The library.
        push: Advise on user turns.
        pull: Bring the three tools.
        prefix: Put in front of the tools' names, for two libraries in one agent.
        name: Name of the middleware; must differ between instances in one agent. In deepagents,
            ``"SkillsMiddleware"`` takes the place of its own skills middleware, in sub-agents too.
        placement: ``inline`` puts advice into the user message, ``own_message`` behind it.
        enforce_allowed_tools: While a skill with ``allowed-tools`` is active, refuse calls of other
            tools and do not offer these to the model; ``refuse`` leaves what is offered as it is,
            so that cached prompts stay valid. A skill is active in the user turn in which it was
            loaded.
        tool_names: What the tools of skills are called in this agent, where they have other names:
            ``{"Bash": "execute", "Read": ["read_file", "ls"]}``.

    Raises:
        ConfigurationError: A setting has a value that it cannot have; or the agent has a tool of its
            own under one of the tools' names, which is raised before the first model call.
    """

    def __init__(
        self,
        cue: SkillCue,
        *,
        push: bool = True,
        pull: bool = True,
        prefix: str = "",
        name: str | None = None,
        placement: Placement = "inline",
        enforce_allowed_tools: EnforceAllowedTools = False,
        tool_names: ToolNames | None = None,
    ) -> None:
        super().__init__()
        self._cue = checked_cue(cue)
        self._push = push
        self._name = name or f"SkillMiddleware{f'[{prefix}]' if prefix else ''}"
        self._records_key = f"{prefix}{RECORDS_KEY}"
        self._own_message = own_advice_message if placement == "own_message" else None
        self._pull = cue.tools(prefix)
        self.tools: Sequence[BaseTool] = skill_tools(cue, prefix=prefix) if pull else []
        self._advisors: dict[str | None, Advisor] = {
            load_tool: cue.advisor(load_tool) for load_tool in (self._pull.load_name, None)
        }
        self.state_schema = _state_schema(self._records_key)
        self._guard = tool_guard(cue, self._pull.load_name, enforce_allowed_tools, tool_names)
        if self._guard is not None:
            # LangChain goes by the class to see whether tool calls are wrapped, and builds another
            # graph where they are.
            self.__class__ = _guarding(type(self))

    @property
    def name(self) -> str:
        """Name of the middleware in its agent."""
        return self._name

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Add the advice to the request; see `AgentMiddleware.wrap_model_call`."""
        changed, plan = self._prepare(request)
        self._announce(request, plan)
        return self._finish(request, handler(changed), plan)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """As `wrap_model_call`, with the retrieval in a worker thread."""
        changed, plan = await asyncio.to_thread(self._prepare, request)
        self._announce(request, plan)
        return self._finish(request, await handler(changed), plan)

    def _prepare(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], Plan]:
        """What the model is sent, and why."""
        changed, plan = self._advised(request)
        if self._guard is None:
            return changed, plan
        records = plan.records or _records(request, self._records_key)
        allowed = self._guard.offered(request, records)
        return changed.override(tools=allowed.tools, tool_choice=allowed.tool_choice), plan

    def _advised(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], Plan]:
        load_tool = self._bound_load_tool(request)
        run = current_run()
        if not self._push:
            if run.mode:
                self._cue.check_mode(run.mode)
            return (self._nudged(request) if self._cue.nudge and self.tools else request), Plan()
        plan = self._advisors[load_tool].plan(
            request.messages,
            mode=run.mode,
            records=_records(request, self._records_key),
            run_context=run.context,
        )
        if not plan.placements:
            return request, plan
        messages = place(request.messages, plan.placements, self._own_message)
        return request.override(messages=messages), plan

    def _bound_load_tool(self, request: ModelRequest[Any]) -> str | None:
        """Name of our load tool if this request has it: advice must not name an unbound tool."""
        ours = {tool.name: tool for tool in self.tools}
        bound: set[str] = set()
        for tool in request.tools:
            name = getattr(tool, "name", None)
            if name in ours and tool is not ours[name]:
                raise ConfigurationError(
                    f"The agent has another tool named {name!r}, which would silently replace "
                    "the skill tool.",
                    'Rename it, or use SkillMiddleware(cue, prefix="my_").',
                )
            if name in ours:
                bound.add(name)
        return self._pull.load_name if self._pull.load_name in bound else None

    def _nudged(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        return request.override(
            system_message=nudged_system(request.system_message, self._pull),
            messages=nudged_user(request.messages, self._pull),
        )

    def _announce(self, request: ModelRequest[Any], plan: Plan) -> None:
        if plan.fresh:
            current_run().write(advice_event(plan))

    def _finish(
        self, request: ModelRequest[Any], response: ModelResponse[Any], plan: Plan
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        stored = _records(request, self._records_key)
        if not plan.records or plan.records == stored:
            return response
        command: Command[Any] = Command(update={self._records_key: dict(plan.records)})
        return ExtendedModelResponse(model_response=response, command=command)


class _Guarding(SkillMiddleware):
    """What is added where `allowed-tools` is enforced."""

    _guard: ToolGuard

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """The tool's answer, or a refusal; see `AgentMiddleware.wrap_tool_call`."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """As `wrap_tool_call`, with the look at the messages in a worker thread."""
        refusal = await asyncio.to_thread(self._refusal, request)
        return refusal or await handler(request)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        state = request.state
        records = state.get(self._records_key) if isinstance(state, dict) else None
        return self._guard.refusal(request, records)


def _guarding(own: type[SkillMiddleware]) -> type[SkillMiddleware]:
    """A class like `own` that guards tool calls as well."""
    if own.wrap_tool_call is not AgentMiddleware.wrap_tool_call:
        raise ConfigurationError(
            f"{own.__name__} wraps tool calls itself and cannot enforce allowed-tools.",
            "Put that into a middleware of its own.",
        )
    return type(own.__name__, (_Guarding, own), {"__module__": own.__module__})


def _records(request: ModelRequest[Any], key: str) -> Any:
    """What the thread has persisted; a state may hold anything under any key."""
    return cast("dict[str, Any]", request.state).get(key)


def _state_schema(key: str) -> Any:
    """A state with one private key; the reducer comes last, where LangGraph looks for it."""
    annotation = NotRequired[Annotated[dict[str, list[str]], PrivateStateAttr, newer_records]]
    namespace = {"__annotations__": {key: annotation}, "__module__": __name__}
    metaclass: Any = type(AgentState)  # a class statement cannot take the key from a variable
    return metaclass("SkillState", (AgentState,), namespace)
