"""One visit to an MCP server: list its skills, read their files, leave."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TextIO

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from skillcue.remote.failures import RefusedError
from skillcue.remote.limits import FetchLimits
from skillcue.remote.mcp_plan import (
    PAGES,
    PlannedSkill,
    SkillRefused,
    plan_entry,
    plan_resources,
)

__all__ = ["EXTENSION", "Place", "Visit", "visit"]

EXTENSION = "io.modelcontextprotocol/skills"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is: an address or a command.

    Attributes:
        url: Address of a streamable HTTP endpoint; empty for a command.
        headers: Sent with every request.
        command: Program and arguments.
        environment: Further variables of the program.
        folder: Where the program runs.
    """

    url: str = ""
    headers: Mapping[str, str] | None = None
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    folder: str | None = None


class Visit:
    """What may be asked during one visit.

    Args:
        client: Connected.
        limits: Bounds.
    """

    def __init__(self, client: Client, limits: FetchLimits) -> None:
        self._client = client
        self._limits = limits

    async def skills(self) -> list[PlannedSkill | str]:
        """What there is to read; in place of what cannot be taken, the reason."""
        offered = self._client.server_capabilities.extensions or {}
        if EXTENSION in offered:
            entries = await self._paged(self._skill_page)
            return [self._plan(entry) for entry in entries]
        resources = await self._paged(self._resource_page)
        return plan_resources(resources, self._limits)

    async def read(self, uri: str) -> bytes:
        """The content of one resource.

        Raises:
            SkillRefused: The answer holds none.
        """
        answer = await self._client.read_resource(uri)
        if len(answer.contents) != 1:
            raise SkillRefused(f"{uri[:200]} came in {len(answer.contents)} parts.")
        content = answer.contents[0]
        if isinstance(content, types.TextResourceContents):
            return content.text.encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(content.blob, validate=True)
        except binascii.Error:
            raise SkillRefused(f"{uri[:200]} is not encoded as it should be.") from None

    def _plan(self, entry: Any) -> PlannedSkill | str:
        try:
            return plan_entry(entry, self._limits)
        except SkillRefused as error:
            uri = entry.get("uri") if isinstance(entry, Mapping) else None
            return f"{str(uri)[:200]}: {error}"

    async def _paged(
        self, ask: Callable[[str | None], Awaitable[tuple[Sequence[Any], str | None]]]
    ) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page, following = await ask(cursor)
            found += page
            if len(found) > self._limits.files:
                break
            if following is None or following == cursor:
                return found
            cursor = following
        raise RefusedError(
            f"It lists more than {self._limits.files} entries (limit files).",
            "Raise FetchLimits(files=...).",
        )

    async def _skill_page(self, cursor: str | None) -> tuple[Sequence[Any], str | None]:
        request = _ListSkills(params=types.PaginatedRequestParams(cursor=cursor))
        answer = await self._client.session.send_request(request, _Skills)
        return answer.skills, answer.next_cursor

    async def _resource_page(self, cursor: str | None) -> tuple[Sequence[Any], str | None]:
        answer = await self._client.list_resources(cursor=cursor)
        return [str(item.uri) for item in answer.resources], answer.next_cursor


class _ListSkills(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: types.PaginatedRequestParams


class _Skills(types.PaginatedResult):
    skills: list[Any]  # checked one by one, so that a wrong entry costs itself only


@asynccontextmanager
async def visit(place: Place, limits: FetchLimits) -> AsyncIterator[Visit]:
    """Connect to the server, and leave at the end; bounded in time.

    Raises:
        TimeoutError: It took more than ``limits.seconds``.
    """
    async with asyncio.timeout(limits.seconds), _transport(place, limits) as transport:
        advertised = [advertise(EXTENSION)]
        client = Client(
            transport, read_timeout_seconds=limits.seconds, cache=None, extensions=advertised
        )
        async with client:
            yield Visit(client, limits)


@asynccontextmanager
async def _transport(place: Place, limits: FetchLimits) -> AsyncIterator[Any]:
    if place.url:
        headers = dict(place.headers or {})
        async with create_mcp_http_client(headers, httpx2.Timeout(limits.seconds)) as http:
            http.event_hooks["response"] = [_Counter(limits.download_bytes).count]
            yield streamable_http_client(place.url, http_client=http)
        return
    parameters = StdioServerParameters(
        command=place.command[0],
        args=list(place.command[1:]),
        env=dict(place.environment) if place.environment is not None else None,
        cwd=place.folder,
    )
    with _nowhere() as nowhere:
        yield stdio_client(parameters, errlog=nowhere)


def _nowhere() -> TextIO:
    """Takes what the program prints about itself."""
    return open(os.devnull, "w", encoding="utf-8")


class _Counter:
    """Ends a visit whose answers hold more bytes than may come."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    async def count(self, response: httpx2.Response) -> None:
        response.stream = _Counted(response.stream, self)

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise RefusedError(
                "Its answers are too large (limit download_bytes).",
                "Raise FetchLimits(download_bytes=...).",
            )


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, counter: _Counter) -> None:
        self._stream = stream
        self._counter = counter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._counter.take(len(part))
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
