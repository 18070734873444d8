"""Commands that fetch code and run it or run what they hide, and orders to send secrets away."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Iterator

from skillcue.scanning.text import Found, ScannedText, before, words

__all__ = ["commands", "encoded", "secrets"]

_SHELL = r"(?:sudo )?(?:(?:/usr)?/bin/)?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby|iex|invoke-expression)\b"
_PIPED = re.compile(
    r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^\n|]{0,400}+\|[ \t]{0,8}"
    + _SHELL
    + r"|\b(?:ba|z)?sh\b[^\n]{0,20}?(?:<\(|\$\(|`)[ \t]{0,4}(?:curl|wget)\b[^\n]{0,300}+"
)
_SOURCES = words("curl wget iwr irm invoke")
_URL_HOST = re.compile(r"https?://([^\s/:\"'`)]{1,200}+)")
_BLOB = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/]{24,}+={0,2}(?![\w-])")
_BASE64 = bytes(
    0x78 if (chr(code).isalnum() and code < 0x80) or code in b"+/" else 0x20 for code in range(256)
)
_LONG = b"x" * 24
_BLOB_CHARS = 4_000
"""As much of a blob is decoded, characters; a multiple of four."""
_DECODED = re.compile(
    rf"\bbase64\b[^\n|]{{0,80}}+\|[ \t]{{0,8}}{_SHELL}|\b(?:exec|eval)\s{{0,4}}\([^\n]{{0,60}}?b64decode\("
)
_SHELL_WORDS = re.compile(
    rb"\b(?:curl|wget)\b.{1,200}?\|\s{0,8}(?:ba|z)?sh\b|/bin/(?:ba)?sh\b|\brm -rf\b|/dev/tcp/"
    rb"|\b(?:ba)?sh -[ci]\b|\bnc -e\b|\bos\.system\(|\bsubprocess\.|invoke-expression|\bpowershell\b",
    re.IGNORECASE | re.DOTALL,
)
_WINDOW = 240
"""Characters before an address that are looked at for what is sent there."""
_ADDRESS = re.compile(r"https?://([^\s/:\"'`)]{1,200}+)|@([a-z0-9-]{1,63}\.[a-z.-]{2,63})")
_TO = re.compile(r"\bto\b[^\n]{0,60}$")
_SEND = re.compile(
    r"\b(?:send|post|upload|transmit|exfiltrate|forward|leak|e?mail|copy|submit)(?:s|ing)?\b"
)
_SECRET = re.compile(
    r"\.ssh/|id_rsa|id_ed25519|\.aws/credentials|\.netrc|\.gnupg|/etc/shadow|\.kube/config"
    r"|wallet\.dat|\bprivate keys?\b|\b(?:api|access) keys?\b|\bcredentials\b|\bpasswords?\b"
    r"|\bsecrets\b|\bcookies\b|\benvironment variables\b|\.env\b"
)
_SECRET_WORDS = words(
    "ssh id_rsa id_ed25519 aws netrc gnupg shadow kube dat key keys credentials password passwords "
    "secrets cookies variables env"
)
_SEND_WORDS = words(
    "send sends sending post posts posting upload uploads uploading transmit transmits transmitting "
    "exfiltrate exfiltrates forward forwards forwarding leak leaks leaking mail email copy copies "
    "submit submits submitting"
)
_SAFE_HOSTS = ("localhost", "127.0.0.1")


def commands(text: ScannedText) -> Iterator[Found]:
    """Downloads that are piped into a shell."""
    if not text.says(_SOURCES):
        return
    for match in _PIPED.finditer(text.low):
        host = _URL_HOST.search(match[0])
        bare = host is not None and _is_bare_address(host[1])
        yield text.found("scan-address-to-shell" if bare else "scan-download-to-shell", match)


def encoded(text: ScannedText) -> Iterator[Found]:
    """Commands in base64, and what decodes and runs them."""
    if text.has(b"64"):
        for match in _DECODED.finditer(text.low):
            if "exec" in match[0] or "eval" in match[0] or re.search(r"-d\b|--decode", match[0]):
                yield text.found("scan-decoded-to-shell", match)
    if _LONG not in text.data.translate(_BASE64):
        return
    for match in _BLOB.finditer(text.plain):
        if _SHELL_WORDS.search(_decoded(match[0])):
            yield text.found("scan-encoded-command", match)


def secrets(text: ScannedText) -> Iterator[Found]:
    """Secrets that are to be sent somewhere, said in words."""
    if text.says(_SECRET_WORDS, _SEND_WORDS):
        for match in _ADDRESS.finditer(text.low):
            host = match[1] or match[2]
            if host not in _SAFE_HOSTS and _sends_secret(before(match, _WINDOW)):
                yield text.found("scan-secrets-sent", match)


def _sends_secret(words: str) -> bool:
    verb = _SEND.search(words)
    if verb is None or _TO.search(words, max(0, len(words) - 70)) is None:
        return False
    return _SECRET.search(words, verb.end()) is not None


def _is_bare_address(host: str) -> bool:
    """A numeric address outside of this machine and its own network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not (address.is_private or address.is_loopback or address.is_link_local)


def _decoded(blob: str) -> bytes:
    part = blob.rstrip("=")[:_BLOB_CHARS]
    part = part[: len(part) - (len(part) % 4 == 1)]
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""
