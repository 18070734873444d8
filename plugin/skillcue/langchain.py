"""LangChain: middleware for ``create_agent`` and deepagents, the pull tools, a retriever, vectors."""

from __future__ import annotations

from skillcue.extras import require

require("langgraph.graph", "langgraph", "langgraph")
require("langchain.agents", "langchain", "langgraph")

from skillcue.langchain_middleware import SkillMiddleware
from skillcue.langchain_retriever import SkillRetriever
from skillcue.langchain_tools import skill_tools
from skillcue.langchain_vectors import from_vectorstore

__all__ = ["SkillMiddleware", "SkillRetriever", "from_vectorstore", "skill_tools"]
