"""A real browser without a package for it: headless Chromium, spoken to over its debugging pipe.

The protocol is that of https://chromedevtools.github.io/devtools-protocol/; with
``--remote-debugging-pipe`` messages are JSON ended by a zero byte, read from descriptor 3 and
written to descriptor 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any, Self

__all__ = ["Browser", "Page", "find_chromium"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT_S = 60.0
"""Longest wait for an answer, seconds."""


def find_chromium() -> str | None:
    """The program, from $CHROMIUM or the path; None when there is none."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """A Chromium with a profile of its own; a context manager."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = _pipe()
        self._in, theirs_out = _pipe()
        command = [
            *(program, "--headless=new", "--remote-debugging-pipe", "--no-first-run"),
            *("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
            *("--hide-scrollbars", f"--user-data-dir={self._profile.name}"),
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # Chromium refuses root without it
        ]

        # Not subprocess: what it can run between fork and exec is unsafe beside threads.
        self._pid = os.posix_spawnp(
            program,
            [*command, "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs_in, 3),
                (os.POSIX_SPAWN_DUP2, theirs_out, 4),
                *((os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in range(3)),
            ],
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The answer to one command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> Page:
        """Open a file in a new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[scheme])
        page.call("Page.navigate", url=path.resolve().as_uri())
        page.wait_for("document.readyState === 'complete'")
        return page

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError("the browser does not answer")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one command about this tab."""
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size, CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + WAIT_S
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def middle(self, selector: str, number: int = 0) -> tuple[float, float]:
        """Where an element is in the window, after scrolling to it."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.evaluate(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.evaluate(  # the scroll event comes with the next frame
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        box = self.evaluate(
            f"(() => {{ const b = {found}.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return float(box[0]), float(box[1])

    def hover(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key, such as ArrowRight."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    @property
    def errors(self) -> list[str]:
        """What the console shows in red or yellow, and uncaught exceptions."""
        self.evaluate("0")  # events of what was done before have arrived then
        return [text for event in self._mine() if (text := _complaint(event))]

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self._mine()
            if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> None:
        """Write the whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(answer["data"]))

    def _mine(self) -> list[dict[str, Any]]:
        return [e for e in self._browser.events if e.get("sessionId") == self._session]


def _complaint(event: dict[str, Any]) -> str | None:
    params = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            return str(params["exceptionDetails"])
        case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
            return str(params["args"])
        case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
            return str(params["entry"]["text"])
    return None


def _pipe() -> tuple[int, int]:
    """A pipe on descriptors above those that Chromium wants."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 16) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
