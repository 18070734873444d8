"""The pull tools as MCP tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from skillcue.mcp_request import RunContext, asked_mode, policy_values
from skillcue.pull import LINE_CHARS, TOOL_DESCRIPTIONS, PullTools, ToolAnswer
from skillcue.push.render import escape
from skillcue.push.turn import skill_version
from skillcue_hooks import Hit, Ranking
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["LookupHit", "LookupResult", "pull_tools"]

READ_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

_PAGE = {"type": "integer", "minimum": 1, "default": 1, "description": "page, from 1"}


class LookupHit(BaseModel):
    """One skill that was found."""

    id: str = Field(description="always loads exactly this skill")
    name: str
    description: str
    score: float = Field(description="higher is better; comparable within one answer only")
    trust: str = Field(description="trusted or untrusted")
    version: str = Field(description="changes with the text of the skill")


class LookupResult(BaseModel):
    """The answer of the lookup tool, for programs."""

    mode: str = Field(description="retrieval mode that answered")
    total: int = Field(description="number of skills that match")
    hits: list[LookupHit]
    degraded: str | None = Field(
        default=None, description="why a quicker way than the mode answered, if it did"
    )
    next_offset: int | None = Field(
        default=None, description="`offset` of the next results, if there are more"
    )


def pull_tools(cue: SkillCue, prefix: str, run_context: RunContext | None) -> list[Tool]:
    """The lookup, load and list tool.

    Args:
        cue: The library.
        prefix: Put in front of the tools' names.
        run_context: Gives what policy plugins see.
    """
    calls = _Calls(cue, prefix, run_context)
    names = calls.local
    return [
        _tool(calls.lookup, names.lookup_name, TOOL_DESCRIPTIONS["lookup"], _lookup_schema(cue)),
        _tool(calls.load, names.load_name, TOOL_DESCRIPTIONS["load"], _LOAD),
        _tool(calls.list, names.list_name, TOOL_DESCRIPTIONS["list"], _LIST),
    ]


class _Calls:
    """The functions behind the tools.

    Arguments are taken as they come, because `PullTools` answers a wrong one with what to do.
    """

    def __init__(self, cue: SkillCue, prefix: str, run_context: RunContext | None) -> None:
        self.local = PullTools(cue, prefix)
        self._remote = PullTools(cue, prefix, paths=False)
        self._run_context = run_context

    async def lookup(
        self, ctx: Context, query: Any = "", k: Any = 5, offset: Any = 0, mode: Any = None
    ) -> Annotated[CallToolResult, LookupResult]:
        named = asked_mode(mode, ctx.request_context)
        answer = await self._answer(ctx, PullTools.lookup, query, k, offset, mode=named)
        if answer.ranking is None:
            return _result(answer)
        reason = self._pull(ctx).why_degraded(answer.ranking) or None
        return _result(answer, _lookup_result(answer.ranking, reason))

    async def load(
        self, ctx: Context, name: Any = "", file: Any = None, page: Any = 1
    ) -> CallToolResult:
        return _result(await self._answer(ctx, PullTools.load, name, file, page))

    async def list(self, ctx: Context, page: Any = 1) -> CallToolResult:
        return _result(await self._answer(ctx, PullTools.list, page))

    async def _answer(
        self, ctx: Context, call: Callable[..., ToolAnswer], *args: Any, **named: Any
    ) -> ToolAnswer:
        """`call` in a worker thread: it may read files, encode, or ask a language model."""
        try:
            seen = await policy_values(self._run_context, ctx.request_context)
        except ConfigurationError as error:
            return ToolAnswer(f"Error: {error}", error=True)
        work = functools.partial(call, self._pull(ctx), *args, run_context=seen, **named)
        return await anyio.to_thread.run_sync(work)

    def _pull(self, ctx: Context) -> PullTools:
        # A client over HTTP may be anywhere, even where it comes through a proxy on this machine.
        return self.local if ctx.headers is None else self._remote


def _tool(
    call: Callable[..., Any], name: str, description: str, parameters: dict[str, Any]
) -> Tool:
    tool = Tool.from_function(call, name=name, description=description, annotations=READ_ONLY)
    tool.parameters = parameters
    return tool


def _lookup_schema(cue: SkillCue) -> dict[str, Any]:
    modes = ", ".join(cue.modes)
    return {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "5 to 15 words that describe the task"},
            "k": {"type": "integer", "default": 5, "description": "number of results, 1 to 20"},
            "offset": {"type": "integer", "default": 0, "description": "results to skip"},
            "mode": {
                "type": "string",
                "description": f"retrieval mode, of {modes}; leave it out for the usual one",
            },
        },
        "required": ["query"],
    }


_LOAD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "name or id of the skill"},
        "file": {"type": "string", "description": "path of a file beside the skill"},
        "page": _PAGE,
    },
    "required": ["name"],
}
_LIST: dict[str, Any] = {"type": "object", "properties": {"page": _PAGE}}


def _result(answer: ToolAnswer, found: LookupResult | None = None) -> CallToolResult:
    data: Mapping[str, Any] | None = found.model_dump(mode="json") if found else None
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)],
        structured_content=data,
        is_error=answer.error,
    )


def _lookup_result(ranking: Ranking, degraded: str | None) -> LookupResult:
    last = ranking.hits[-1].rank if ranking.hits else ranking.total
    return LookupResult(
        mode=ranking.mode,
        total=ranking.total,
        hits=[_hit(hit) for hit in ranking.hits],
        degraded=degraded,
        next_offset=last if last < ranking.total else None,
    )


def _hit(hit: Hit) -> LookupHit:
    """Names and descriptions as the text has them: some clients show a model only these data."""
    skill = hit.skill
    return LookupHit(
        id=skill.id,
        name=escape(skill.name),
        description=escape(skill.description, LINE_CHARS),
        score=round(hit.score, 4),
        trust=skill.trust,
        version=skill_version(skill),
    )
