"""Commands that send keys, credentials or the environment to the network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.scanning.text import Found, ScannedText, before, words

__all__ = ["uploads"]

_KEYS = (
    r"(?:\.ssh/(?![\w-]{0,40}\.pub\b)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub\b)|\.aws/cred|\.netrc"
    r"|\.gnupg/|/etc/shadow|\.kube/config|wallet\.dat|\.git-credentials|\.pgpass)"
)
"""Files that hold nothing but secrets; a public key is none."""
_FILES = (
    rf"(?:{_KEYS}|(?<!\w)\.(?:ssh|aws|gnupg|kube)(?![\w-]|/[\w-]{{0,40}}\.pub\b)"
    r"|(?<!process)(?<!meta)\.env(?![\w-]|\.(?:example|sample|template|dist)\b))"
)
"""Those, and what honest commands read as well; only what sends the whole of it is reported."""
_SENDERS = words("curl wget nc ncat socat scp rsync sftp")
_SECRETS = words(
    "ssh id_rsa id_ed25519 id_ecdsa id_dsa aws netrc gnupg shadow kube wallet git pgpass env printenv"
)
"""A word of each file and command of the patterns."""
_SIGNS = (".", "id_", "env", "/shadow")
"""One of them is in whatever the patterns for pipes match; looked for first, as it costs less."""
_WINDOW = 240
"""Characters before a pipe that are looked at for what goes into it."""
_COMMAND = r"[^\n]{0,400}+(?:(?<=\\)\n[^\n]{0,400}+){0,6}+"
"""The rest of a command, over the ends of lines that a backslash takes away."""
_REST = re.compile(_COMMAND)
_PIPED_AWAY = re.compile(r"\|[^\n|]{0,60}?\b(?:curl|wget|nc|ncat|socat)\b")
_READ_KEYS = re.compile(rf"{_KEYS}|\bprintenv\b|(?:^|[\s(;`&])env\s{{0,4}}$")
_READ_FILES = re.compile(rf"{_FILES}|(?:^|[\s(;`&])env\s{{0,4}}\|")
_READER = re.compile(r"\b(?:cat|tar|zip|gzip|base64|openssl|gpg|head|tail|xxd|env)\b")
_STDIN = re.compile(
    r"@(?:-|/dev/stdin)|(?<![\w-])-[a-z]{0,5}t\s{0,2}-|--(?:upload|post)-file[ =](?:-|/dev/stdin)"
)
_UPLOAD = re.compile(rf"\b(?:curl|wget|nc|ncat)\b{_COMMAND}")
_PATH = r"[~$\w./{}\"'-]{0,80}?"
_PACKED = r"(?:[)`]|\|\s{0,4}(?:base64|gzip|xxd|openssl|tr|jq)\b)"
_UPLOADED = re.compile(
    rf"(?:[@<]|--post-file=?)\s{{0,2}}{_PATH}{_KEYS}"
    rf"|(?:(?<![\w.])|(?<=-[df]))[@<]\s{{0,2}}{_PATH}{_FILES}"
    rf"|(?:(?<![\w-])-[a-z]{{0,5}}t|--(?:upload|post|body)-file)[\s=]{{0,3}}{_PATH}{_FILES}"
    rf"|(?:\$\(|(?<=[\"'=])`)\s{{0,4}}(?:(?:env|printenv)\s{{0,4}}"
    rf"|(?:(?:cat|base64|gzip|xxd|head|tail|tar)\s|<)[^)`\n|]{{0,80}}?{_FILES}[^)`\n|]{{0,20}}){_PACKED}"
)
_COPY = re.compile(r"\b(?:scp|rsync|sftp)\b([^\n;|&]{0,300}+)")
_KEY_FILE = re.compile(rf"{_KEYS}|(?<!\w)\.(?:ssh|aws|gnupg)(?![\w-]|/[\w-]{{0,40}}\.pub\b)")
_REMOTE = re.compile(r"[\"']?(?:[\w.-]+@[\w.-]+:|[\w-]+(?:\.[\w-]+)+:|[\w-]+:[/~])")
_TAKES_KEY = frozenset({"-i", "-f", "-o"})
"""Options of ssh whose argument is a file that is used here and is not sent."""


def uploads(text: ScannedText) -> Iterator[Found]:
    """Commands that pipe, upload or copy secrets to another machine."""
    if not text.says(_SENDERS, _SECRETS):
        return
    for match in _PIPED_AWAY.finditer(text.low):
        if _pipes_secret(match):
            yield text.found("scan-exfiltration", match)
    for match in _UPLOAD.finditer(text.low):
        if _UPLOADED.search(match[0]):
            yield text.found("scan-exfiltration", match)
    for match in _COPY.finditer(text.low):
        if _copies_key(match[1].split()):
            yield text.found("scan-exfiltration", match)


def _pipes_secret(match: re.Match[str]) -> bool:
    line = before(match, _WINDOW)
    if not any(sign in line for sign in _SIGNS):
        return False
    if _READ_KEYS.search(line):
        return True
    read = _READ_FILES.search(line)
    if read is None or _READER.search(line, 0, read.end()) is None:
        return False
    if match[0].endswith(("nc", "ncat", "socat")):  # they send what they are given
        return True
    rest = _REST.match(match.string, match.end())
    return rest is not None and _STDIN.search(rest[0]) is not None


def _copies_key(arguments: list[str]) -> bool:
    """Whether a key stands among the sources, and a remote place behind it."""
    key = False
    for option, argument in zip(["", *arguments], arguments, strict=False):
        if _REMOTE.match(argument):
            if key:
                return True
        elif not argument.startswith("-") and option not in _TAKES_KEY:
            key = key or _KEY_FILE.search(argument) is not None
    return False
