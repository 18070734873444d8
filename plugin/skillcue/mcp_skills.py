"""The MCP Skills extension (SEP-2640) and skills as resources, over a `SkillCatalog`.

``skills/list``, ``skills/get`` and ``resources/directory/read`` are methods of the extension.
``resources/list`` and ``resources/read`` are those of the protocol; hosts that do not know the
extension see ordinary resources.

Source: modelcontextprotocol/ext-skills, specification/stable/skills.mdx.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PaginatedRequestParams, Resource

from skillcue.mcp_catalog import SCHEME, FileContent, SkillCatalog, UnknownUriError
from skillcue.mcp_published import Child, PublishedSkill
from skillcue.mcp_request import RunContext, policy_values
from skillcue.mcp_wire import (
    DirectoryParams,
    DirectoryResult,
    GetSkillParams,
    GetSkillResult,
    ListSkillsResult,
    child_resource,
    skill_entry,
    skill_resource,
)
from skillcue_hooks.errors import ConfigurationError

__all__ = ["SkillResources", "SkillsExtension"]

EXTENSION_ID = "io.modelcontextprotocol/skills"

T = TypeVar("T")

log = logging.getLogger("skillcue.mcp")


class SkillResources:
    """Answers about published skills, for the one who sends a request.

    Args:
        catalog: The skills.
        run_context: Gives what policy plugins see.
    """

    def __init__(self, catalog: SkillCatalog, run_context: RunContext | None) -> None:
        self._catalog = catalog
        self._run_context = run_context

    async def page(
        self, request: ServerRequestContext[Any, Any], cursor: str | None
    ) -> tuple[list[PublishedSkill], str | None]:
        """A page of skills and the cursor of the next one.

        Raises:
            MCPError: The cursor is none of ours.
        """
        after = _decoded(cursor) if cursor else ""
        skills, last = await self._ask(request, self._catalog.page, after)
        return skills, _encoded(last) if last else None

    async def get(self, request: ServerRequestContext[Any, Any], uri: str) -> PublishedSkill:
        """The skill whose SKILL.md is at `uri`.

        Raises:
            MCPError: There is none that the one who asks may see.
        """
        return await self._ask(request, self._catalog.get, uri)

    async def read(self, request: ServerRequestContext[Any, Any], uri: str) -> FileContent:
        """The bytes at `uri`; errors as `get`."""
        return await self._ask(request, self._catalog.read, uri)

    async def children(self, request: ServerRequestContext[Any, Any], uri: str) -> list[Child]:
        """What lies in the folder at `uri`; errors as `get`."""
        return await self._ask(request, self._catalog.children, uri)

    async def _ask(
        self,
        request: ServerRequestContext[Any, Any],
        call: Callable[[str, Mapping[str, Any]], T],
        uri: str,
    ) -> T:
        """`call` in a worker thread, since it reads files."""
        try:
            seen = await policy_values(self._run_context, request)
            return await anyio.to_thread.run_sync(call, uri, seen)
        except UnknownUriError:
            raise MCPError(INVALID_PARAMS, f"Nothing is served at {uri[:200]}") from None
        except ConfigurationError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from None
        except Exception as error:  # a source may raise anything; the client is told no detail
            log.exception("skills cannot be served")
            raise MCPError(INTERNAL_ERROR, "The skill library cannot answer now.") from error

    async def add_to_listing(
        self, request: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware that adds the SKILL.md files to ``resources/list``.

        The list changes with the library and with who is asking, which registered resources
        cannot.
        """
        result = await call_next(request)
        if request.method != "resources/list" or not isinstance(result, dict):
            return result
        cursor = (request.params or {}).get("cursor")
        skills, following = await self.page(request, cursor)
        others = [] if cursor else result["resources"]  # registered ones are on the first page
        added = [_wire(skill_resource(skill)) for skill in skills]
        return {
            **result,
            "resources": [*others, *added],
            **({"nextCursor": following} if following else {}),
        }


class SkillsExtension(Extension):
    """The methods of the extension.

    Args:
        resources: Answers them.
    """

    identifier = EXTENSION_ID

    def __init__(self, resources: SkillResources) -> None:
        self._resources = resources

    def settings(self) -> dict[str, Any]:
        """Folders can be read as well."""
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        """List, get, and the reading of folders."""
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", GetSkillParams, self._get),
            MethodBinding("resources/directory/read", DirectoryParams, self._children),
        )

    async def _list(
        self, request: ServerRequestContext[Any, Any], params: PaginatedRequestParams
    ) -> ListSkillsResult:
        skills, cursor = await self._resources.page(request, params.cursor)
        return ListSkillsResult(skills=[skill_entry(skill) for skill in skills], next_cursor=cursor)

    async def _get(
        self, request: ServerRequestContext[Any, Any], params: GetSkillParams
    ) -> GetSkillResult:
        return GetSkillResult(skill=skill_entry(await self._resources.get(request, params.uri)))

    async def _children(
        self, request: ServerRequestContext[Any, Any], params: DirectoryParams
    ) -> DirectoryResult:
        children = await self._resources.children(request, params.uri)
        return DirectoryResult(resources=[child_resource(child) for child in children])


def _wire(model: Resource) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decoded(cursor: str) -> str:
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
    except ValueError:
        text = ""
    if not text.startswith(SCHEME):
        raise MCPError(INVALID_PARAMS, "The cursor is not one that this server gave.")
    return text
