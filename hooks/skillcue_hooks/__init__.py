"""The contract of skillcue: the records, roles, hooks and errors that plugins build on.

Depends on pluggy and the standard library, nothing else.
"""

from __future__ import annotations

from skillcue_hooks.contracts import (
    Advice,
    Diagnostic,
    Hit,
    Library,
    LoadedSkill,
    Query,
    Ranking,
    Rejection,
    RetrieverContext,
    Scope,
    Skill,
    SourceScan,
    Turn,
    TurnQuery,
    allow_all,
)
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec, Usage
from skillcue_hooks.markers import hookimpl, hookspec
from skillcue_hooks.protocols import (
    CacheStore,
    Encoder,
    LanguageModel,
    PairScorer,
    Retriever,
    RetrieverFactory,
    SkillSource,
)

__all__ = [
    "Advice",
    "CacheStore",
    "ChatMessage",
    "Completion",
    "Diagnostic",
    "Encoder",
    "Hit",
    "LanguageModel",
    "Library",
    "LoadedSkill",
    "PairScorer",
    "Query",
    "Ranking",
    "Rejection",
    "Retriever",
    "RetrieverContext",
    "RetrieverFactory",
    "Scope",
    "Skill",
    "SkillSource",
    "SourceScan",
    "ToolCall",
    "ToolSpec",
    "Turn",
    "TurnQuery",
    "Usage",
    "allow_all",
    "hookimpl",
    "hookspec",
]
