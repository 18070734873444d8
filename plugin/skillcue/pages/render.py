"""One HTML file: everything in it, nothing loaded, no script but its own.

Text from the data is never markup: it stands in a block of JSON without ``<``, which the script
turns into text nodes, and the page's policy allows this one script alone.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from skillcue_hooks.errors import ConfigurationError

__all__ = ["PageParts", "check_writable", "page_script", "render_page", "write_whole"]

_SLOT = re.compile(r"<!--slot:(\w+)-->")


@dataclass(frozen=True, slots=True)
class PageParts:
    """What makes one kind of page.

    Attributes:
        package: The package beside which its files lie.
        folder: Folder with ``page.js``, and maybe ``page.css``.
    """

    package: str
    folder: str


def render_page(parts: PageParts, title: str, data: Mapping[str, Any], plain: str) -> str:
    """The page.

    Args:
        parts: Its script and style, which follow those that all pages share.
        title: Of the window; any text.
        data: What the script draws; plain JSON values, any texts.
        plain: Markup for readers without scripts; texts in it are escaped by the caller.
    """
    script = page_script(parts)
    slots = {
        "policy": _policy(script),
        "title": html.escape(title),
        "style": _shared("base.css") + _own(parts, "page.css"),
        "script": script,
        "plain": plain,
        "data": _data(data),
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], _shared("shell.html"))


def page_script(parts: PageParts) -> str:
    """The one script of a page."""
    return _shared("base.js") + _own(parts, "page.js")


def check_writable(named: str | None) -> None:
    """Find out before the work, not after it, that there is no such folder.

    Raises:
        ConfigurationError: The folder of `named` does not exist.
    """
    if named and not Path(named).absolute().parent.is_dir():
        raise ConfigurationError(
            f"{named} cannot be written: there is no such folder.", "Make the folder first."
        )


def write_whole(named: str, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        ConfigurationError: It cannot be written.
    """
    path = Path(named)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, "utf-8", "backslashreplace")  # names of files may be no UTF-8
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"{named} cannot be written: {error.strerror or error}.", "Choose another path."
        ) from error


def _shared(name: str) -> str:
    return (files("skillcue.pages") / name).read_text("utf-8")


def _own(parts: PageParts, name: str) -> str:
    path = files(parts.package) / parts.folder / name
    return path.read_text("utf-8") if path.is_file() else ""


def _policy(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _data(values: Mapping[str, Any]) -> str:
    """JSON in ASCII that holds nothing an HTML parser looks for."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
