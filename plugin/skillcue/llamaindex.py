"""LlamaIndex: the pull tools as a tool spec, push for agents and workflows, a retriever, vectors."""

from __future__ import annotations

from skillcue.extras import require

require("llama_index.core", "llama-index-core", "llamaindex")

from skillcue.llamaindex_agent import attach_agent, with_skills
from skillcue.llamaindex_retriever import SkillRetriever
from skillcue.llamaindex_run import SkillAdviceEvent
from skillcue.llamaindex_tools import SkillToolSpec
from skillcue.llamaindex_vectors import from_llamaindex

__all__ = [
    "SkillAdviceEvent",
    "SkillRetriever",
    "SkillToolSpec",
    "attach_agent",
    "from_llamaindex",
    "with_skills",
]
