"""`allowed-tools`, enforced in a LangChain agent while a skill that has any is active."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from skillcue.active_skills import active_skills
from skillcue.allowed_tools import AllowedTools, ToolNames
from skillcue.langchain_tools import is_skill_tool
from skillcue.push.render import escape
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["EnforceAllowedTools", "ToolGuard", "tool_guard"]

log = logging.getLogger("skillcue.allowed_tools")

EnforceAllowedTools = bool | Literal["refuse"]
"""False; True, to refuse calls and not to offer their tools; ``refuse``, to refuse only."""

RULE_CHARS = 80
"""Longest rule that a refusal repeats, characters."""
RULES_SHOWN = 20
"""Most rules that a refusal names."""


class ToolGuard:
    """Keeps an agent to the tools of its active skills. Safe to share between threads.

    Args:
        cue: The library.
        load_tool: Name of the load tool.
        names: What tools are called in this agent, besides the names that skills use.
        hide: Take tools that are not allowed out of requests as well.
    """

    def __init__(self, cue: SkillCue, load_tool: str, names: ToolNames, *, hide: bool) -> None:
        self._cue = cue
        self._load_tool = load_tool
        self._names = names
        self._hide = hide
        self._reported: set[str] = set()

    def offered(self, request: ModelRequest[Any], records: Any) -> ModelRequest[Any]:
        """`request` without tools of which no call is allowed now.

        Tools that the model's provider runs are always taken out, since no call of them passes here.

        Args:
            request: What the model is sent; its messages without advice.
            records: What the thread has persisted, this turn included.
        """
        allowed = self._allowed(request.messages, records)
        if allowed is None:
            return request
        kept = [tool for tool in request.tools if self._may_stay(tool, allowed)]
        if len(kept) == len(request.tools):
            return request
        left = {_tool_name(tool) for tool in kept}
        forced = _forced_tool(request.tool_choice)
        if forced not in left and any(_tool_name(tool) == forced for tool in request.tools):
            return request.override(tools=kept, tool_choice=None)
        return request.override(tools=kept)

    def refusal(self, request: ToolCallRequest, records: Any) -> ToolMessage | None:
        """The answer in place of the tool's, None where the call is allowed.

        Args:
            request: The call.
            records: What the thread has persisted.
        """
        if is_skill_tool(request.tool):
            return None
        allowed = self._allowed(_messages(request.state), records)
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if allowed is None or allowed.allows(name, arguments):
            return None
        return ToolMessage(
            _explained(name, allowed),
            name=name,
            tool_call_id=str(request.tool_call["id"]),
            status="error",
        )

    def _allowed(self, messages: Sequence[Any], records: Any) -> AllowedTools | None:
        """What the active skills allow; None where none of them says anything."""
        active = active_skills(messages, records, self._load_tool, self._cue.snapshot().get)
        written = [rule for skill in active for rule in skill.rules or ()]
        if not written and all(skill.rules is not None for skill in active):
            return None
        allowed = AllowedTools(written, self._names)
        for rule in allowed.unknown:
            if rule not in self._reported:
                self._reported.add(rule)
                log.warning("allowed-tools: %r is in no syntax that is known; nothing fits", rule)
        return allowed

    def _may_stay(self, tool: Any, allowed: AllowedTools) -> bool:
        if is_skill_tool(tool) or allowed.offers(_tool_name(tool)):
            return True
        return not self._hide and not isinstance(tool, dict)


def tool_guard(
    cue: SkillCue, load_tool: str, enforce: EnforceAllowedTools, names: ToolNames | None
) -> ToolGuard | None:
    """The guard that the settings ask for, None for none.

    Raises:
        ConfigurationError: A setting has a value that it cannot have.
    """
    if not isinstance(enforce, bool) and enforce != "refuse":
        raise ConfigurationError(
            f"enforce_allowed_tools is {enforce!r}.", 'Use True, False or "refuse".'
        )
    if not enforce:
        if names is not None:
            raise ConfigurationError(
                "tool_names is given and nothing is enforced.", "Pass enforce_allowed_tools=True."
            )
        return None
    return ToolGuard(cue, load_tool, _checked_names(names), hide=enforce is True)


def _checked_names(names: object) -> ToolNames:
    """`names` as given; what would otherwise fail in a tool call, or let nothing through, raises."""
    if names is None:
        return {}
    if isinstance(names, Mapping) and all(
        _is_name(own) and _are_names(there) for own, there in names.items()
    ):
        return names
    raise ConfigurationError(
        f"tool_names is {names!r}.",
        "Pass what the tools of skills are called in this agent: "
        'tool_names={"Bash": "execute", "Read": ["read_file", "ls"]}.',
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_names(value: object) -> bool:
    return _is_name(value) or (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and all(map(_is_name, value))
    )


def _explained(name: str, allowed: AllowedTools) -> str:
    shown = [escape(str(rule), RULE_CHARS) for rule in allowed.rules[:RULES_SHOWN]]
    rest = len(allowed.rules) - len(shown)
    listed = ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")
    which = "this call of " if allowed.offers(name) else ""
    return (
        f"Error: {which}{escape(name, RULE_CHARS)} is not allowed while the loaded skill is in use. "
        f"It allows: {listed or 'no tool that this agent knows'}. "
        "Go on with these, or tell the user what you cannot do."
    )


def _forced_tool(choice: Any) -> str:
    """The tool that the model is made to call, as text or in the form of a provider; else ""."""
    if isinstance(choice, Mapping):
        inner = choice.get("function")
        choice = (inner if isinstance(inner, Mapping) else choice).get("name")
    return choice if isinstance(choice, str) else ""


def _tool_name(tool: Any) -> str:
    """The name that a call of the tool has; tools of the provider may have a type only."""
    if not isinstance(tool, dict):
        return str(getattr(tool, "name", ""))
    function = tool.get("function")
    inner = function.get("name") if isinstance(function, dict) else None
    return str(inner or tool.get("name") or tool.get("type") or "")


def _messages(state: Any) -> Sequence[Any]:
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", state)
    return found if isinstance(found, list) else ()
