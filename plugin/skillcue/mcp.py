"""MCP: the library as a server that any client can use.

The pull tools, the two nudges as instructions and as a prompt, and the skills as resources in the
form of the MCP Skills extension. ``skillcue serve`` runs it; `skill_server` is for applications
that embed it and say who is asking.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skillcue.extras import checked_cue, require

require("mcp.server.mcpserver", "mcp", "mcp")

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import InputRequiredResult

from skillcue import __version__
from skillcue.mcp_catalog import SCHEME, SkillCatalog
from skillcue.mcp_request import MODE_HEADER, MODE_META, RunContext
from skillcue.mcp_skills import SkillResources, SkillsExtension
from skillcue.mcp_tools import LookupHit, LookupResult, pull_tools
from skillcue.nudges import system_nudge, user_nudge

if TYPE_CHECKING:
    from pydantic.networks import AnyUrl

    from skillcue.facade import SkillCue

__all__ = ["MODE_HEADER", "MODE_META", "LookupHit", "LookupResult", "RunContext", "skill_server"]


def skill_server(
    cue: SkillCue,
    *,
    name: str = "skillcue",
    prefix: str = "",
    run_context: RunContext | None = None,
    **options: Any,
) -> MCPServer[Any]:
    """An MCP server over a library. Building one reads no file and touches no logging.

    Args:
        cue: The library.
        name: Name of the server, as clients see it.
        prefix: Put in front of the tools' names, for two libraries in one client.
        run_context: Called with every request; gives the values that policy plugins see, such as
            ``{"team": "finance"}``. May be ``async``. Without it they see none: nothing that a
            client sends is taken for who it is.
        options: Further arguments of ``MCPServer``, such as ``auth`` and ``token_verifier``.

    Raises:
        ConfigurationError: `cue` is not a `SkillCue`.

    Example:
        >>> skill_server(cue).run("stdio")                                 # doctest: +SKIP
    """
    tools = pull_tools(checked_cue(cue), prefix, run_context)
    resources = SkillResources(SkillCatalog(cue), run_context)
    lookup, load = tools[0].name, tools[1].name
    ours: dict[str, Any] = {
        "instructions": system_nudge(lookup, load),
        "version": __version__,
        "subscriptions": False,  # nobody is told of edits; a request sees them
        **options,
        "tools": [*tools, *(options.get("tools") or ())],
        "extensions": [SkillsExtension(resources), *(options.get("extensions") or ())],
        "middleware": [resources.add_to_listing, *(options.get("middleware") or ())],
    }
    with _root_logging_kept():
        server = _SkillServer(name, **ours)
    server.skill_resources = resources
    server.add_prompt(_prompt(f"{prefix}use_skills", user_nudge(lookup, load)))
    return server


class _SkillServer(MCPServer[Any]):
    """Reads ``skill://`` resources from the library."""

    skill_resources: SkillResources

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """See `MCPServer.read_resource`."""
        if context is None or not str(uri).startswith(SCHEME):
            return await super().read_resource(uri, context)
        found = await self.skill_resources.read(context.request_context, str(uri))
        return [ReadResourceContents(_text_or_bytes(found.data), found.mime_type)]


def _text_or_bytes(data: bytes) -> str | bytes:
    """As text where that gives the same bytes again, which digests are made of."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return data if "\x00" in text else text


def _prompt(name: str, nudge: str) -> Prompt:
    def use_skills(task: str = "") -> str:
        return f"{task.rstrip()}\n\n{nudge}" if task.strip() else nudge

    return Prompt.from_function(
        use_skills,
        name=name,
        title="Use skills",
        description="Do a task with the help of the skill library: search it first.",
    )


@contextmanager
def _root_logging_kept() -> Iterator[None]:
    """``MCPServer`` configures the root logger, which belongs to the application."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        for handler in [handler for handler in root.handlers if handler not in handlers]:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
