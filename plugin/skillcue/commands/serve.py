"""``skillcue serve``: the library as an MCP server, over stdio or streamable HTTP.

Over stdio, standard output belongs to the protocol; notes and warnings go to standard error. The
library is read and indexed in the background, so that a client never waits for its handshake.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import signal
import socket
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from skillcue.commands.library import Opened, cue_options, named_sources
from skillcue.commands.messages import print_note
from skillcue.facade import SkillCue
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    import uvicorn
    from mcp.server.mcpserver import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["run"]

HOST = "127.0.0.1"
"""Address where none is given: this machine only."""
PORT = 8000
"""Port where none is given."""
PATH = "/mcp"
"""Where the HTTP server answers."""
SHUTDOWN_S = 3
"""Seconds that open HTTP connections have to end."""
CLOSE_S = 5.0
"""Seconds that the indexing thread has to end."""

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_WITHOUT_CASE = (b"host", b"origin")
_ANY_ADDRESS = ("0.0.0.0", "::")
_ADDRESS = re.compile(rb"(?:https?://)?(?:\[[0-9a-f:.%]+\]|[^\s:/@\[\]?#]+)(?::\d+)?")

log = logging.getLogger("skillcue.mcp")


def run(args: Namespace) -> int:
    """Serve until the client or the operator ends it."""
    _check_options(args)
    with ExitStack() as stack:
        with redirect_stdout(sys.stderr):  # whatever plugins print when they are imported
            from skillcue.mcp import skill_server  # raises where the extra is missing

            library = stack.enter_context(_library(args))
            server = skill_server(library.cue)
        if args.transport == "http":
            return _serve_http(server, args, library.where)
        _serve_stdio(server)
    return 0


def _check_options(args: Namespace) -> None:
    """Refuse what would be taken in silence.

    Raises:
        ConfigurationError: An option of HTTP is given, and clients come over stdio.
    """
    given = {"--host": args.host, "--port": args.port, "--allow-host": args.allow_host or None}
    names = [name for name, value in given.items() if value is not None]
    if names and args.transport != "http":
        raise ConfigurationError(
            f"{' and '.join(names)} would do nothing over {args.transport}.",
            "Add --transport http, or leave it out.",
        )


@contextmanager
def _library(args: Namespace) -> Iterator[Opened]:
    """The library, getting ready in a thread of its own.

    Raises:
        LibraryNotFoundError: A folder does not exist, or none was named and none is there.
        UnknownModeError: ``args.mode`` is not registered.
        ConfigurationError: Another option does not fit.
    """
    named = named_sources(args.skills)
    cue = SkillCue(named, **cue_options(args))
    library = Opened(cue, ", ".join(named))
    thread = threading.Thread(target=_get_ready, args=(library,), daemon=True)
    thread.start()
    with cue:
        yield library
    thread.join(CLOSE_S)


def _get_ready(library: Opened) -> None:
    try:
        library.note_problems()
        library.cue.wait_ready()
    except Exception as error:  # noqa: BLE001  # requests say it again, to those who ask
        log.warning("the library is not ready: %s", error)


def _serve_stdio(server: MCPServer[Any]) -> None:
    import anyio

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":  # where signals end the process anyway
                tasks.start_soon(_exit_on_signal)
            await server.run_stdio_async()
            tasks.cancel_scope.cancel()

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):  # the client is gone: nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _exit_on_signal() -> None:
    """End at once: the thread that waits for standard input cannot be woken.

    Nothing is lost by it. Answers are flushed one by one, and what is on disk survives kills.
    """
    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            os._exit(0 if number == signal.SIGTERM else 130)


def _serve_http(server: MCPServer[Any], args: Namespace, where: str) -> int:
    import uvicorn

    host = HOST if args.host is None else args.host
    listener = _listen(host, PORT if args.port is None else args.port)
    address, port = listener.getsockname()[:2]
    names = [_in_url(name) for name in (host, *args.allow_host) if name not in _ANY_ADDRESS]
    if not ipaddress.ip_address(address).is_loopback:
        print_note(
            f"{host} can be reached from other machines, and whoever reaches it may read "
            f"all of {where}.",
            "Put it behind something that asks who is there, or leave out --host.",
        )
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_guard([*names, *_LOOPBACK_NAMES])
    )
    config = uvicorn.Config(
        _without_case(app), log_config=None, access_log=False, timeout_graceful_shutdown=SHUTDOWN_S
    )
    web = uvicorn.Server(config)
    stopped = _stop_on_signals(web)
    print_note(f"Serving {where} at http://{_in_url(str(address))}:{port}{PATH}")
    web.run(sockets=[listener])
    return 128 + signal.SIGINT if signal.SIGINT in stopped else 0


def _stop_on_signals(web: uvicorn.Server) -> list[int]:
    """Shut down in order on a signal; the list holds those that came.

    uvicorn has handlers of its own while it runs. Afterwards it sends the signals again to those
    that were there before, in the middle of its event loop, where nothing may be raised.
    """
    stopped: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stopped.append(number)
        web.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that nobody can come too early.

    Raises:
        ConfigurationError: The address is not one of this machine, or is taken.
    """
    if not 0 <= port <= 65_535:
        raise ConfigurationError(
            f"--port is {port}.", "Ports count from 0 (any free one) to 65535."
        )
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}.",
            "Name another port with --port, 0 for any free one.",
        ) from error


def _guard(names: list[str]) -> TransportSecuritySettings:
    """Requests that a web page sends under another host name are refused (DNS rebinding)."""
    from mcp.server.transport_security import TransportSecuritySettings

    lower = [name.lower() for name in names]  # as `_without_case` gives them
    hosts = [form for name in lower for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def _without_case(app: ASGIApp) -> ASGIApp:
    """`app`, asked by plain names: names of hosts have no case, and the guard compares beginnings."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [(k, _plain(v) if k in _WITHOUT_CASE else v) for k, v in scope["headers"]]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return ask


def _plain(address: bytes) -> bytes:
    """A host or an origin in lower case; what is none becomes a text that no guard lets through."""
    lower = address.lower()
    return lower if _ADDRESS.fullmatch(lower) else b"-"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
