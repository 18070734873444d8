"""What a LlamaIndex run passes along in its store: mode, policy context, conversation; its stream.

Agents and tools meet in ``ctx.store`` only. Everything skillcue keeps there is plain JSON, so that
it survives ``ctx.to_dict()``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.workflow import Event
from pydantic import Field

from skillcue.allowed_tools import tools_by_skill
from skillcue.mode import MODE_KEY, requested_mode
from skillcue.push.advisor import Plan

__all__ = [
    "RECORDS_KEY",
    "RUN_MODE_KEY",
    "SkillAdviceEvent",
    "conversation",
    "policy_context",
    "store_mode",
    "turn_has_begun",
    "user_text",
]

log = logging.getLogger("skillcue.llamaindex")

RECORDS_KEY = "skillcue_turns"
"""Store key of what `skillcue.push.memo.Records` describes, under a kilobyte."""
RUN_MODE_KEY = "skillcue_run_mode"
"""Store key of the mode given to ``run(skill_mode=...)``, for that run only."""


class SkillAdviceEvent(Event):
    """The decision on a user turn, on the stream once a turn.

    Attributes:
        type: Always ``skill_advice``.
        decision: ``offer``, ``load`` or ``abstain``.
        mode: The retrieval mode that was used.
        skills: Names of the offered skills, best first.
        ids: Their ids.
        tokens: Size of the advice, tokens.
        confidence: The gate's number for the best candidate.
        threshold: What it had to reach.
        reason: One sentence: why it spoke or stayed silent.
        elapsed_ms: Time spent, milliseconds.
        shadow: It was decided and not shown to the model.
        allowed_tools: What the offered skills allow, by id; skills that say nothing are left out.
    """

    type: Literal["skill_advice"] = "skill_advice"
    decision: str
    mode: str
    skills: list[str]
    ids: list[str]
    tokens: int
    confidence: float
    threshold: float
    reason: str
    elapsed_ms: float
    shadow: bool = False
    allowed_tools: dict[str, list[str]] = Field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> SkillAdviceEvent:
        """The event that tells about `plan`."""
        advice = plan.advice
        return cls(
            decision=advice.decision,
            mode=advice.mode,
            skills=[hit.skill.name for hit in advice.hits],
            ids=[hit.skill.id for hit in advice.hits],
            tokens=advice.tokens,
            confidence=round(advice.confidence, 4),
            threshold=round(advice.threshold, 4),
            reason=advice.reason,
            elapsed_ms=round(advice.elapsed_s * 1000, 3),
            shadow=plan.shadow,
            allowed_tools=tools_by_skill(hit.skill for hit in advice.hits),
        )


async def store_mode(store: Any) -> str | None:
    """The mode the user asked for: of this run, of the store, or of ``with skill_mode(...)``."""
    of_run = await store.get(RUN_MODE_KEY, default=None)
    stored = await store.get(MODE_KEY, default=None)
    return requested_mode(of_run, {MODE_KEY: stored})


async def user_text(store: Any) -> str | None:
    """The newest user message as the user wrote it; None outside of an agent run."""
    text = await store.get("user_msg_str", default=None)
    return text if isinstance(text, str) else None


async def turn_has_begun(store: Any) -> bool:
    """Whether the model was asked in this run before; agents keep what came of it to themselves."""
    kept = ("scratchpad", "current_reasoning")
    return any([await store.get(key, default=None) for key in kept])


async def policy_context(store: Any) -> dict[str, Any]:
    """Top-level store keys, for policy plugins."""
    state = await store.get_state()
    items = state.items() if hasattr(state, "items") else state
    return {key: value for key, value in items if not str(key).startswith("skillcue_")}


async def conversation(store: Any) -> list[Any]:
    """The messages the model sees now, as far as the store tells; empty where it does not."""
    try:
        return [
            *await _remembered(await store.get("memory", default=None)),
            *await store.get("scratchpad", default=[]),
            *_observations(await store.get("current_reasoning", default=[])),
        ]
    except Exception:  # a memory of the user's may raise anything; the tool answers without it
        log.exception("the memory cannot be read; what is loaded already is not known")
        return []


async def _remembered(memory: Any) -> Sequence[Any]:
    if memory is None:
        return []
    if isinstance(memory, Memory):  # its `aget` would run the memory blocks, which may call models
        return await memory.aget_all(status=MessageStatus.ACTIVE)
    messages: Sequence[Any] = await memory.aget()
    return messages


def _observations(steps: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Tool results of a ReAct agent's turn; it keeps them as reasoning, not as messages."""
    found: list[Mapping[str, Any]] = []
    action = ""
    for step in steps:
        observation = getattr(step, "observation", None)
        if isinstance(observation, str):
            found.append({"role": "tool", "name": action, "content": observation})
        action = getattr(step, "action", "")
    return found
