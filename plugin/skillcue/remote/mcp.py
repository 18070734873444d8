"""Skills from an MCP server, by the Skills extension or as plain resources."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import urlsplit

from skillcue.remote.failures import SourceFetchError, UnreachableError
from skillcue.remote.git_program import without_credentials
from skillcue.remote.mcp_plan import PlannedFile, PlannedSkill, SkillRefused
from skillcue.remote.mirror import Fetched, MirroredSource, SourceOptions, mirror_options
from skillcue.remote.store import Entry, Last
from skillcue.remote.tree import TreeWriter
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.fingerprint import fingerprint

if TYPE_CHECKING:
    from skillcue.remote.mcp_session import Place, Visit

__all__ = ["McpSource"]

SKILLS_AT_ONCE = 8
"""Skills of an MCP server that are read at the same time."""


class McpSource(MirroredSource):
    """The skills that an MCP server offers; needs the extra ``mcp``.

    With the Skills extension (``io.modelcontextprotocol/skills``) every file is compared with the
    digest and the size that the server lists, and a skill with a wrong one is left out. Without it
    the ``skill://`` resources are taken as they come. Nothing else of the server is used.

    Args:
        url: Its streamable HTTP endpoint: ``https://``, or ``http://`` on this machine.
        command: Program and arguments of a server that speaks over standard input and output, in
            place of `url`.
        headers: Sent with every request, such as ``{"Authorization": "Bearer ..."}``.
        environment: Further variables of the program.
        options: `trust`, `label`, `cache`, `refresh`, `strict`, `fetch_limits`, `read_limits`: see
            `MirrorOptions`.

    Raises:
        ConfigurationError: An argument cannot be used.
        MissingExtraError: The package mcp is not installed.
    """

    def __init__(
        self,
        url: str = "",
        *,
        command: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Unpack[SourceOptions],
    ) -> None:
        if bool(url) == bool(command) or isinstance(command, str):
            raise ConfigurationError(
                "A server is named by an address or by a command.",
                'Pass McpSource("https://host/mcp") or McpSource(command=["server"]).',
            )
        place_of = _place_class()
        self._place: Place = place_of(
            _checked_url(url), headers, tuple(map(str, command)), environment
        )
        shown = without_credentials(url.partition("?")[0]) or " ".join(self._place.command)
        host = urlsplit(url).netloc.rpartition("@")[2].replace(":", "-")
        name = host or self._place.command[0].rpartition("/")[2]
        super().__init__(
            mirror_options(options),
            location=f"mcp {shown}",
            # Who asks may decide what there is, so the credentials are part of it, hashed.
            identity=fingerprint(
                "mcp", url, list(command), dict(headers or {}), dict(environment or {})
            ),
            label=name,
            name=name,
        )

    def _fetch(self, last: Last | None) -> Fetched:
        known = self._store.get(last.digest) if last else None
        gathered = _Gathered(known, last.state if last else "")

        def fill(tree: TreeWriter) -> str:
            _run(self._visited(tree, gathered))
            if gathered.unchanged:
                raise _Unchanged
            return gathered.digest

        try:
            entry = self._store.put_unnamed(fill, self.options.fetch_limits)
        except _Unchanged:
            assert known is not None
            entry = known
        except SourceFetchError:
            raise
        except Exception as error:  # whatever the library raises; the place did not answer well
            raise _failure(error, self.options.fetch_limits.seconds) from error
        return Fetched(entry, gathered.state)

    async def _visited(self, tree: TreeWriter, gathered: _Gathered) -> None:
        from skillcue.remote.mcp_session import visit

        async with visit(self._place, self.options.fetch_limits) as server:
            plans = await server.skills()
            gathered.settle(plans)
            if gathered.unchanged:
                return
            skills = sorted(gathered.skills, key=lambda skill: skill.folder)
            for start in range(0, len(skills), SKILLS_AT_ONCE):
                await _take(server, skills[start : start + SKILLS_AT_ONCE], tree, gathered)
        for reason in gathered.refused:
            uri, _, why = reason.partition(": ")
            tree.leave_out(uri, why)


class _Unchanged(Exception):  # no error: ends a fetch that brings nothing new
    pass


class _Gathered:
    """What one visit found out.

    Args:
        known: What was fetched last.
        state: State of that fetch.
    """

    def __init__(self, known: Entry | None, state: str) -> None:
        self._known = known
        self._before = state
        self._hash = hashlib.sha256()
        self.skills: list[PlannedSkill] = []
        self.refused: list[str] = []
        self.state = ""
        self.unchanged = False

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def settle(self, plans: Sequence[PlannedSkill | str]) -> None:
        """Tell skills from reasons, and whether anything can have changed."""
        folders: set[str] = set()
        for plan in plans:
            if isinstance(plan, str):
                self.refused.append(plan)
            elif plan.folder.casefold() in folders:
                self.refused.append(f"{plan.uri}: The server lists it twice.")
            else:
                folders.add(plan.folder.casefold())
                self.skills.append(plan)
        files = [file for skill in self.skills for file in skill.files]
        if all(file.digest is not None for file in files):
            listed = [[file.uri, file.digest, file.size] for file in files]
            self.state = fingerprint(listed, sorted(self.refused))
        self.unchanged = bool(self.state) and self.state == self._before and bool(self._known)

    def kept(self, file: PlannedFile) -> bytes | None:
        """The content of a file that was fetched before and is listed as the same."""
        if self._known is None or file.digest is None:
            return None
        try:
            content = (self._known.folder / file.path).read_bytes()
        except OSError:
            return None
        return content if _digest(content) == file.digest else None

    def note(self, path: str, content: bytes) -> None:
        self._hash.update(f"{path}\0{_digest(content)}\n".encode())

    def note_refused(self, uri: str, reason: str) -> None:
        self.refused.append(f"{uri}: {reason}")
        self._hash.update(f"left out {uri} {reason}\n".encode())


async def _take(
    server: Visit, plans: Sequence[PlannedSkill], tree: TreeWriter, gathered: _Gathered
) -> None:
    """Read some skills at once, then write them in order: none that is not as listed."""
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(_contents(server, plan, gathered)) for plan in plans]
    for plan, task in zip(plans, reading, strict=True):
        contents = task.result()
        if isinstance(contents, str):
            gathered.note_refused(plan.uri, contents)
            continue
        if plan.note:
            gathered.refused.append(f"{plan.uri}: {plan.note}")
        for file, content in zip(plan.files, contents, strict=True):
            gathered.note(tree.add(file.path, [content]), content)


async def _contents(server: Visit, plan: PlannedSkill, gathered: _Gathered) -> list[bytes] | str:
    """The content of each file of a skill, or why the skill is not taken."""
    contents = []
    try:
        for file in plan.files:
            content = gathered.kept(file)
            if content is None:
                content = await server.read(file.uri)
                _verify(file, content)
            contents.append(content)
    except SkillRefused as error:
        return str(error)
    return contents


def _verify(file: PlannedFile, content: bytes) -> None:
    if file.size is not None and len(content) != file.size:
        raise SkillRefused(f"{file.path!r} has {len(content)} bytes, not {file.size} as listed.")
    if file.digest is not None and _digest(content) != file.digest:
        raise SkillRefused(f"{file.path!r} is not the file whose digest is listed.")


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` in a thread: this one may have an event loop already."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # noqa: BLE001  # carried over to the caller's thread
            failures.append(error)

    thread = threading.Thread(target=run, name="skillcue-mcp", daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise _innermost(failures[0])


def _innermost(error: BaseException) -> BaseException:
    """The error behind groups of one task; a failure of ours goes before all others."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    ours = error.subgroup(SourceFetchError)
    return _innermost((ours or error).exceptions[0])


def _failure(error: Exception, seconds: float) -> SourceFetchError:
    if isinstance(error, TimeoutError):
        return UnreachableError(
            f"It took more than {seconds:g} seconds.",
            "Look at the server, or raise FetchLimits(seconds=...).",
        )
    if isinstance(error, OSError):
        return UnreachableError(
            f"{error.strerror or error}.", "Start the server; look at its address."
        )
    text = without_credentials(f"{type(error).__name__}: {error}".strip(": "))
    return UnreachableError(f"{text}.", "Start the server; look at its address and its log.")


def _checked_url(url: str) -> str:
    if not url:
        return url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{without_credentials(url)!r} is no address of an MCP server.",
            "Write https://host/mcp (as a text: mcp+https://host/mcp).",
        )
    if parts.username or parts.password:
        raise ConfigurationError(
            "An address must not hold a password.",
            'Pass McpSource(url, headers={"Authorization": ...}).',
        )
    if parts.scheme == "http" and not _is_here(parts.hostname):
        raise ConfigurationError(
            f"{url!r} would be read without encryption.", "Use https; http is for 127.0.0.1."
        )
    return url


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _place_class() -> type[Place]:
    try:
        from skillcue.remote.mcp_session import Place
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "mcp_types", "httpx2"):
            raise MissingExtraError("mcp", "mcp") from error
        raise
    return Place
