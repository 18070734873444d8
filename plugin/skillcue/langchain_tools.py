"""The pull tools as LangChain tools."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from skillcue.extras import checked_cue
from skillcue.langchain_run import current_run
from skillcue.pull import TOOL_DESCRIPTIONS, PullTools, ToolAnswer

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

# No postponed annotations here: LangGraph reads the types of injected arguments at run time.

__all__ = ["is_skill_tool", "skill_tools"]


def _or_default(default: int) -> BeforeValidator:
    """Models send null for an argument they do not care about."""
    return BeforeValidator(lambda value: default if value in (None, "") else value)


class _Args(BaseModel):
    model_config = ConfigDict(extra="ignore")

    # Filled in by LangGraph's ToolNode and stripped from what a model may send.
    runtime: Annotated[Any, InjectedToolArg] = None


def _explain(error: Any) -> str:
    """A validation error in the words of the other errors: what is wrong, and what fits."""
    wrong = error.errors()[0] if hasattr(error, "errors") else {}
    argument = ".".join(str(part) for part in wrong.get("loc", ())) or "arguments"
    if wrong.get("type") == "missing":
        return f"Error: `{argument}` is missing. Pass it as {_KINDS.get(argument, 'text')}."
    given = repr(wrong.get("input"))[:60]
    return f"Error: `{argument}` is {given}. Pass {_KINDS.get(argument, 'text')}."


_KINDS = {"k": "a whole number from 1", "offset": "a whole number from 0"}
_KINDS["page"] = _KINDS["k"]


class _LookupArgs(_Args):
    query: str = Field(description="5 to 15 words that describe the task")
    k: Annotated[int, _or_default(5)] = Field(default=5, description="number of results, 1 to 20")
    offset: Annotated[int, _or_default(0)] = Field(default=0, description="results to skip")


class _LoadArgs(_Args):
    name: str = Field(description="name or id of the skill")
    file: str | None = Field(default=None, description="path of a file beside the skill")
    page: Annotated[int, _or_default(1)] = Field(default=1, description="page, from 1")


class _ListArgs(_Args):
    page: Annotated[int, _or_default(1)] = Field(default=1, description="page, from 1")


class _SkillTool(BaseTool):
    """What the three tools share: one body for sync and async, errors become messages."""

    pull: Any = Field(exclude=True, repr=False)
    messages_key: str = "messages"
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool = True
    handle_validation_error: Any = Field(default_factory=lambda: _explain)

    @abstractmethod
    def answer(self, runtime: Any, **arguments: Any) -> ToolAnswer:
        """The tool's own work."""

    def _run(
        self,
        runtime: Any = None,
        config: RunnableConfig = None,  # type: ignore[assignment]  # LangChain injects by this type
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[str, Mapping[str, Any]]:
        answer = self.answer(runtime, **arguments)
        if answer.error:
            raise ToolException(answer.text)  # LangChain makes an error message of it
        return answer.text, dict(answer.data)

    async def _arun(
        self,
        runtime: Any = None,
        config: RunnableConfig = None,  # type: ignore[assignment]  # as above
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,
    ) -> tuple[str, Mapping[str, Any]]:
        return await asyncio.to_thread(self._run, runtime, **arguments)

    def messages(self, runtime: Any) -> Sequence[Any]:
        """The conversation, where the caller's state is known."""
        state = getattr(runtime, "state", None)
        if isinstance(state, list):
            return state
        found = (
            state.get(self.messages_key)
            if isinstance(state, Mapping)
            else getattr(state, self.messages_key, None)
        )
        return found if isinstance(found, list) else ()


class _SkillLookup(_SkillTool):
    args_schema: type[BaseModel] = _LookupArgs

    def answer(self, runtime: Any, **arguments: Any) -> ToolAnswer:
        run = current_run()
        found: ToolAnswer = self.pull.lookup(
            **arguments, mode=run.mode, messages=self.messages(runtime), run_context=run.context
        )
        return found


class _SkillLoad(_SkillTool):
    args_schema: type[BaseModel] = _LoadArgs

    def answer(self, runtime: Any, **arguments: Any) -> ToolAnswer:
        loaded: ToolAnswer = self.pull.load(
            **arguments, messages=self.messages(runtime), run_context=current_run().context
        )
        return loaded


class _SkillList(_SkillTool):
    args_schema: type[BaseModel] = _ListArgs

    def answer(self, runtime: Any, **arguments: Any) -> ToolAnswer:
        listed: ToolAnswer = self.pull.list(**arguments, run_context=current_run().context)
        return listed


def skill_tools(
    cue: "SkillCue", *, prefix: str = "", messages_key: str = "messages"
) -> list[BaseTool]:
    """``skill_lookup``, ``skill_load`` and ``skill_list`` as LangChain tools.

    Args:
        cue: The library.
        prefix: Put in front of the tools' names, for two libraries in one agent.
        messages_key: State key of the messages, for the "already loaded" answer.
    """
    pull: PullTools = checked_cue(cue).tools(prefix)
    shared: dict[str, Any] = {"pull": pull, "messages_key": messages_key}
    return [
        _SkillLookup(name=pull.lookup_name, description=TOOL_DESCRIPTIONS["lookup"], **shared),
        _SkillLoad(name=pull.load_name, description=TOOL_DESCRIPTIONS["load"], **shared),
        _SkillList(name=pull.list_name, description=TOOL_DESCRIPTIONS["list"], **shared),
    ]


def is_skill_tool(tool: Any) -> bool:
    """Whether the tool is one of `skill_tools`, of whatever library."""
    return isinstance(tool, _SkillTool)
