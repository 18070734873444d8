"""The pull tools as a LlamaIndex tool spec."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec
from llama_index.core.workflow import Context
from pydantic import BaseModel, Field

from skillcue.extras import checked_cue
from skillcue.llamaindex_run import conversation, policy_context, store_mode, user_text
from skillcue.pull import TOOL_DESCRIPTIONS, ToolAnswer
from skillcue_hooks.errors import SkillcueError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

# No postponed annotations here: LlamaIndex finds the context argument by its type at run time.

__all__ = ["SkillToolSpec", "bound_load_tool"]


class _LookupArgs(BaseModel):
    query: str = Field(description="5 to 15 words that describe the task")
    k: int = Field(default=5, description="number of results, 1 to 20")
    offset: int = Field(default=0, description="results to skip")


class _LoadArgs(BaseModel):
    name: str = Field(description="name or id of the skill")
    file: str | None = Field(default=None, description="path of a file beside the skill")
    page: int = Field(default=1, description="page, from 1")


class _ListArgs(BaseModel):
    page: int = Field(default=1, description="page, from 1")


class SkillToolSpec(BaseToolSpec):
    """``skill_lookup``, ``skill_load`` and ``skill_list`` for any LlamaIndex agent.

    The functions take whatever a model sends, unknown arguments included: LlamaIndex does not
    check arguments against the schema. A call that cannot be answered raises an error whose text
    is meant for the model; agents turn it into a tool result marked as an error.

    Args:
        cue: The library.
        prefix: Put in front of the tools' names, for two libraries in one agent.

    Example:
        >>> agent = FunctionAgent(                                         # doctest: +SKIP
        ...     llm=llm, tools=SkillToolSpec(cue).to_tool_list()
        ... )
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = ["skill_lookup", "skill_load", "skill_list"]  # noqa: RUF012  # as the base class declares it

    def __init__(self, cue: "SkillCue", prefix: str = "") -> None:
        self.cue = checked_cue(cue)
        self._pull = cue.tools(prefix)
        self._metadata = {
            "skill_lookup": ToolMetadata(
                TOOL_DESCRIPTIONS["lookup"], self._pull.lookup_name, _LookupArgs
            ),
            "skill_load": ToolMetadata(TOOL_DESCRIPTIONS["load"], self._pull.load_name, _LoadArgs),
            "skill_list": ToolMetadata(TOOL_DESCRIPTIONS["list"], self._pull.list_name, _ListArgs),
        }

    def to_tool_list(
        self,
        spec_functions: list[SPEC_FUNCTION_TYPE] | None = None,
        func_to_metadata_mapping: dict[str, ToolMetadata] | None = None,
    ) -> list[FunctionTool]:
        """The tools; see `BaseToolSpec.to_tool_list`.

        Args:
            spec_functions: Names of the functions that become tools; None takes all three.
            func_to_metadata_mapping: Other metadata, by function name.
        """
        metadata = {**self._metadata, **(func_to_metadata_mapping or {})}
        return super().to_tool_list(spec_functions, metadata)

    async def skill_lookup(
        self, ctx: Context, query: Any = "", k: Any = 5, offset: Any = 0, **unknown: Any
    ) -> str:
        """Search the library; see `TOOL_DESCRIPTIONS`."""
        asked = await user_text(ctx.store)
        answer = await asyncio.to_thread(
            self._pull.lookup,
            query,
            k,
            offset,
            mode=await store_mode(ctx.store),
            messages=[{"role": "user", "content": asked}] if asked else (),
            run_context=await policy_context(ctx.store),
            thread=await conversation(ctx.store),
        )
        return _text(answer)

    async def skill_load(
        self, ctx: Context, name: Any = "", file: Any = None, page: Any = 1, **unknown: Any
    ) -> str:
        """Read a skill, or a file beside it; see `TOOL_DESCRIPTIONS`."""
        answer = await asyncio.to_thread(
            self._pull.load,
            name,
            file,
            page,
            messages=await conversation(ctx.store),
            run_context=await policy_context(ctx.store),
        )
        return _text(answer)

    async def skill_list(self, ctx: Context, page: Any = 1, **unknown: Any) -> str:
        """List the library, a page at a time; see `TOOL_DESCRIPTIONS`."""
        run_context = await policy_context(ctx.store)
        return _text(await asyncio.to_thread(self._pull.list, page, run_context=run_context))


def bound_load_tool(cue: "SkillCue", tools: Sequence[Any]) -> str | None:
    """Name of the tool that loads from `cue`; None when `tools` hold none.

    Args:
        cue: The library.
        tools: Tools of one model call; another tool of the same name does not count.
    """
    for tool in tools:
        function = getattr(tool, "real_fn", None)
        spec = getattr(function, "__self__", None)
        if isinstance(spec, SkillToolSpec) and spec.cue is cue and function == spec.skill_load:
            return str(tool.metadata.get_name())
    return None


def _text(answer: ToolAnswer) -> str:
    """The answer's text.

    Raises:
        SkillcueError: The answer is an error. An exception is the only way to mark a tool result
            as one, and its text is all that the model sees of it.
    """
    if answer.error:
        raise SkillcueError(answer.text)
    return answer.text
