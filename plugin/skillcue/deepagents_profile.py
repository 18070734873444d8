"""Skills for every agent of deepagents, without a line of code: its entry point for profiles.

With skillcue installed and ``SKILLCUE_SKILLS`` set, ``create_deep_agent(model)`` has the pull tools
and the advice, and so have its sub-agents. Without the variable nothing happens; with a library
that cannot be opened, the agent is built without skills and the reason is logged.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["PROVIDERS", "PROVIDERS_ENV", "SKILLS_ENV", "register"]

log = logging.getLogger("skillcue.deepagents")

SKILLS_ENV = "SKILLCUE_SKILLS"
"""The folders, separated as in ``PATH``; the same variable as the command line's."""
PROVIDERS_ENV = "SKILLCUE_DEEPAGENTS_PROVIDERS"
"""Further providers, or ``provider:model`` keys, separated by commas."""

# deepagents knows profiles by provider only: those of `init_chat_model`, for models named by a
# text, and what model objects say of themselves (`ls_provider`), where that is another name.
PROVIDERS = (
    *("ai21", "amazon_bedrock", "anthropic", "anthropic_bedrock", "azure", "azure_ai"),
    *("azure_openai", "baseten", "bedrock", "bedrock_converse", "bedrock_mantle_anthropic"),
    *("bedrock_mantle_openai", "cerebras", "cohere", "databricks", "deepseek", "fireworks"),
    *("google_anthropic_vertex", "google_genai", "google_vertexai", "groq", "huggingface", "ibm"),
    *("langsmith", "litellm", "meta", "mistral", "mistralai", "nvidia", "ollama", "openai"),
    *("openrouter", "perplexity", "sambanova", "snowflake", "together", "upstage", "vllm"),
    *("watsonx", "xai"),
)
"""Whose models get skills."""

_lock = threading.Lock()
_opened: dict[str, SkillCue] = {}


def register() -> None:
    """Register the profiles; called by deepagents when it first looks for one."""
    if not os.environ.get(SKILLS_ENV, "").strip(os.pathsep + " "):
        return
    from deepagents import HarnessProfile, register_harness_profile  # imported by who calls us

    more = (key.strip() for key in os.environ.get(PROVIDERS_ENV, "").split(","))
    for key in (*PROVIDERS, *filter(None, more)):
        try:
            register_harness_profile(key, HarnessProfile(extra_middleware=_middleware))
        except ValueError as error:  # a key of the user's that cannot be one
            log.warning("deepagents gets no skills for %r: %s", key, error)


def _middleware() -> list[Any]:
    """The middleware of one agent: all of a process share the library."""
    named = os.environ.get(SKILLS_ENV, "")
    try:
        from skillcue.deepagents_guest import (
            GuestMiddleware,  # an agent is being built: it may cost
        )

        return [GuestMiddleware(_library(named))]
    except Exception as error:  # noqa: BLE001  # nobody asked for skills in code: no reason to have no agent
        log.warning("deepagents gets no skills from %s=%s: %s", SKILLS_ENV, named, error)
        return []


def _library(named: str) -> SkillCue:
    with _lock:
        if named not in _opened:
            from skillcue.facade import SkillCue

            _opened[named] = SkillCue([part for part in named.split(os.pathsep) if part.strip()])
        return _opened[named]
