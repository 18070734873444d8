"""Links that run code, report to somebody, or lead elsewhere than they say; paths that lead out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.scanning.text import Found, ScannedText

__all__ = ["links", "paths"]

_SCRIPT = re.compile(r"\]\(\s{0,4}<?\s{0,4}(?:javascript|vbscript):[^)\n]{0,80}")
_DATA = re.compile(r"\]\(\s{0,4}<?data:(?:text/html|application/|image/svg)[^)\n]{0,40}")
_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}+\]\(\s{0,4}<?https?://([^\s/?#)]{1,200}+)[^\s?)]{0,300}+\?([^\s)]{1,300}+)"
)
_PLACE = re.compile(r"\{\w|\$\{|\$\(|%7b|<\w|\[\w")
_BADGES = ("shields.io", "badge", "star-history.com", "github.com", "githubusercontent.com")
_LINK = re.compile(
    r"\[(?<!!\[)\s{0,4}(?:https?://)?((?:[\w-]{1,63}\.){1,5}[a-z]{2,12})(?:/[^\]\s]{0,200})?\s{0,4}\]"
    r"\(\s{0,4}<?https?://(?:[^\s/@)]{0,100}@)?([^\s/:?#)]{1,200})"
)
_FILE_ENDS = frozenset(
    {"md", "py", "js", "ts", "json", "txt", "sh", "yaml", "yml", "html", "csv", "net"}
)
_PATHS = re.compile(
    r"(?:\.\./){3,20}[\w.]|(?:\.\.\\){3,20}[\w.]"
    r"|/etc/(?:shadow|passwd|sudoers)\b|(?:~|\$home|/root|/home/\w{1,32})/\.(?:ssh/(?:id_|authorized)|aws/cred"
    r"|gnupg|netrc|kube/config|docker/config)"
)
_UNC = re.compile(r"(?<![\\\w:])\\\\(?!\\)[\w.-]{2,63}\\[\w$.-]{1,63}\\")


def links(text: ScannedText) -> Iterator[Found]:
    """Links and images in Markdown."""
    if not text.has(b"]("):
        return
    if text.has(b"script:"):
        yield from (text.found("scan-script-link", match) for match in _SCRIPT.finditer(text.low))
    if text.has(b"data:"):
        yield from (text.found("scan-data-link", match) for match in _DATA.finditer(text.low))
    if text.has(b"!["):
        yield from _images(text)
    if text.has(b"](http", b"]( http", b"](<http", b"](\n"):
        for match in _LINK.finditer(text.low):
            if not _same_site(match[1], match[2]):
                yield text.found("scan-link-host", match)


def paths(text: ScannedText) -> Iterator[Found]:
    """Paths that climb out of the skill's folder, to secrets, or to another machine."""
    if text.has(b"../../", b"/etc/", b"/.", b"..\\"):
        yield from (text.found("scan-path", match) for match in _PATHS.finditer(text.low))
    if text.has(b"\\\\"):
        yield from (text.found("scan-path", match) for match in _UNC.finditer(text.low))


def _images(text: ScannedText) -> Iterator[Found]:
    for match in _IMAGE.finditer(text.low):
        badge = any(part in match[1] for part in _BADGES)
        if _PLACE.search(match[2]) and not badge and not text.is_cited(match):
            yield text.found("scan-image-beacon", match)
        elif not badge:
            yield text.found("scan-image-query", match)


def _same_site(shown: str, target: str) -> bool:
    """Whether the host that a link shows is the one it leads to, or lies below or above it."""
    if shown.rpartition(".")[2] in _FILE_ENDS:
        return True
    ours, theirs = shown.removeprefix("www."), target.removeprefix("www.").rstrip(".")
    return ours == theirs or ours.endswith(f".{theirs}") or theirs.endswith(f".{ours}")
