"""Tokens that end a message or begin another one in chat templates, and our own delimiters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.push.messages import ADVICE_CLOSE, ADVICE_OPEN
from skillcue.scanning.text import Found, ScannedText, words

__all__ = ["speakers"]

_TOKENS = re.compile(
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|end|eot_id|start_header_id|end_header_id"
    r"|endoftext|begin_of_text|channel|message|start|return)\|>"
    r"|<<sys>>|<</sys>>|\[/?inst\]|<start_of_turn>|<end_of_turn>"
    rf"|{re.escape(ADVICE_OPEN)}|{re.escape(ADVICE_CLOSE)}"
)
_SIGNS = (
    b"<|",
    b"<<",
    b"[inst]",
    b"[/inst]",
    b"_of_turn>",
    ADVICE_OPEN.encode(),
    ADVICE_CLOSE.encode(),
)
_ROLES = re.compile(
    r"^[ \t]{0,8}(?:</?(?:system|assistant|human|user|tool_result|function_results)>"
    r"|#{1,6} ?(?:system|assistant) ?(?:message|prompt)?:|\[(?:system|assistant)\])",
    re.MULTILINE,
)
_SPEAKERS = words("system assistant human user tool_result function_results")
_ROLE_SIGNS = re.compile(
    rb"</?(?:system|assistant|human|user|tool_result|function_results)>|# ?(?:system|assistant)\b"
    rb"|\[(?:system|assistant)\]"
)


def speakers(text: ScannedText) -> Iterator[Found]:
    """Tokens and markers with which another speaker could begin."""
    if text.has(*_SIGNS):
        for match in _TOKENS.finditer(text.low):
            cited = text.is_cited(match)
            yield text.found("scan-template-token-cited" if cited else "scan-template-token", match)
    if text.says(_SPEAKERS) and _ROLE_SIGNS.search(text.data):
        for match in _ROLES.finditer(text.low):
            yield text.found("scan-role-marker", match)
