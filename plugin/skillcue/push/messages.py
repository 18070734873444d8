"""Chat messages of any framework, seen through one small record.

LangChain messages, LlamaIndex messages, OpenAI-style and Anthropic-style dicts are told apart by
their shape, so that no framework has to be imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = [
    "ADVICE_CLOSE",
    "ADVICE_OPEN",
    "SEPARATOR",
    "SYSTEM_MADE_KEY",
    "MessageView",
    "Role",
    "is_advice",
    "strip_advice",
    "view_messages",
]

Role = Literal["user", "assistant", "system", "tool"]

ADVICE_OPEN = "<skill_advice>"
ADVICE_CLOSE = "</skill_advice>"
"""The fixed delimiters of advice; nothing a skill says can contain them unescaped."""

SEPARATOR = "\n\n"
"""Between the user's words and advice; taking advice out takes out exactly this as well."""

SYSTEM_MADE_KEY = "lc_source"
"""Marker in ``additional_kwargs`` of messages in user position that no user wrote."""

_ROLES: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_HEAD = f"{ADVICE_OPEN}\n"
_TAIL = f"\n{ADVICE_CLOSE}"
_OBSERVATION = "Observation:"
_ACTION = re.compile(r"^Action: *(\S+)[^\n]*\nAction Input:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MessageView:
    """What push needs to know about one message.

    Attributes:
        role: Who speaks; unknown roles count as ``assistant``, so nothing is added to them.
        text: The text parts, joined by newlines.
        id: Message id, "" where it has none.
        system_made: In user position, but written by a framework (a summary, a reminder).
        tool_name: For tool results: the tool's name, "" where it cannot be told.
        results: Tool and text of each result, where results are blocks of a message, as Anthropic
            has them; else empty.
    """

    role: Role
    text: str
    id: str = ""
    system_made: bool = False
    tool_name: str = ""
    results: tuple[tuple[str, str], ...] = ()


def view_messages(messages: Iterable[Any]) -> tuple[MessageView, ...]:
    """One view for each message, in order. Never raises for odd content."""
    call_names: dict[str, str] = {}
    views: list[MessageView] = []
    for message in messages:
        view = _view(message, call_names)
        if view.role == "user" and view.text.startswith(_OBSERVATION) and views:
            view = _observed(view, views[-1])
        if view.role == "assistant":
            call_names.update(_tool_calls(message))
        views.append(view)
    return tuple(views)


def is_advice(text: str) -> bool:
    """`text` is one advice block and nothing else."""
    return text.startswith(_HEAD) and text.endswith(_TAIL) and text.count(ADVICE_CLOSE) == 1


def strip_advice(text: str) -> str:
    """`text` without advice blocks at its end, byte for byte as it was before they were added.

    They are there when a second library advises on the same request, or when an application
    stores requests.
    """
    end = len(text)
    while text.endswith(_TAIL, 0, end):
        start = text.rfind(_HEAD, 0, end)
        inside = end - len(_TAIL)
        if start < 0 or text.find(ADVICE_CLOSE, start, inside) >= 0:
            break
        end = start - len(SEPARATOR) if text.endswith(SEPARATOR, 0, start) else start
    return text[:end]


def _view(message: Any, call_names: Mapping[str, str]) -> MessageView:
    extra = _get(message, "additional_kwargs")
    extra = extra if isinstance(extra, Mapping) else {}
    role = _role(message)
    text = _text(message)
    call_id = _get(message, "tool_call_id") or extra.get("tool_call_id")
    tool_name = ""
    if role == "tool":
        tool_name = str(_get(message, "name") or call_names.get(str(call_id), ""))
    results = tuple(_results(message, call_names)) if role == "user" else ()
    if results and (not text or is_advice(text)):  # in user position, and nobody's words
        role, tool_name, text = "tool", results[0][0], "\n".join(said for _, said in results)
    return MessageView(
        role=role,
        text=text,
        id=str(_get(message, "id") or ""),
        system_made=bool(extra.get(SYSTEM_MADE_KEY)),
        tool_name=tool_name,
        results=results,
    )


def _results(message: Any, call_names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Tool and text of each ``tool_result`` block."""
    content = _get(message, "content")
    for block in content if isinstance(content, list | tuple) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            yield call_names.get(str(block.get("tool_use_id")), ""), _text(block)


def _observed(view: MessageView, before: MessageView) -> MessageView:
    """What a tool said to an agent of the ReAct kind, which hears it in user position."""
    actions = _ACTION.findall(before.text) if before.role == "assistant" else ()
    if not actions:
        return view
    text = view.text[len(_OBSERVATION) :].removeprefix(" ")
    return replace(view, role="tool", text=text, tool_name=actions[-1])


def _role(message: Any) -> Role:
    role = _get(message, "role") or _get(message, "type")
    name = str(getattr(role, "value", role)).lower()
    return _ROLES.get(name.removesuffix("messagechunk"), "assistant")  # LangChain's streamed parts


def _text(message: Any) -> str:
    blocks = None if isinstance(message, Mapping) else getattr(message, "blocks", None)
    content = blocks if isinstance(blocks, Sequence) else _get(message, "content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return _joined(part for part in map(_block_text, content) if part)


def _joined(parts: Iterable[str]) -> str:
    """`parts` in lines; advice stands off as it does in plain text, so `strip_advice` finds it."""
    pieces: list[str] = []
    for part in parts:
        if pieces:
            pieces.append(SEPARATOR if is_advice(part) else "\n")
        pieces.append(part)
    return "".join(pieces)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    kind = _get(block, "type") or _get(block, "block_type")
    text = _get(block, "text")
    return text if isinstance(text, str) and kind in (None, "text", "input_text") else ""


def _tool_calls(message: Any) -> Iterable[tuple[str, str]]:
    """(call id, tool name) of the calls an assistant message makes, in any framework's shape."""
    extra = _get(message, "additional_kwargs")
    nested = extra.get("tool_calls") if isinstance(extra, Mapping) else None
    blocks = None if isinstance(message, Mapping) else getattr(message, "blocks", None)
    content = _get(message, "content")
    used = content if isinstance(content, list | tuple) else ()
    uses = [block for block in used if _get(block, "type") == "tool_use"]
    for source in (_get(message, "tool_calls"), nested, blocks, uses):
        for call in source if isinstance(source, Sequence) else ():
            name = _get(call, "name") or _get(call, "tool_name")
            name = name or _get(_get(call, "function"), "name")
            call_id = _get(call, "id") or _get(call, "tool_call_id") or _get(call, "tool_id")
            if isinstance(name, str) and call_id:
                yield str(call_id), name


def _get(record: Any, key: str) -> Any:
    if isinstance(record, Mapping):
        return record.get(key)
    return getattr(record, key, None)
