"""The built-in plugins; they use the same hooks as a stranger's plugin."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skillcue_adapters.register
from skillcue_hooks import Diagnostic, Skill, hookimpl

if TYPE_CHECKING:
    from skillcue.facade import SkillCue
    from skillcue_hooks.protocols import SkillSource

__all__ = ["AttachLangGraph", "AttachLlamaIndex", "OpenRemoteSources", "Scanner", "plugins"]


class AttachLangGraph:
    """``cue.attach`` for LangGraph; loads the integration only when LangGraph is in use."""

    @hookimpl(trylast=True)
    def skillcue_attach(self, target: Any, cue: SkillCue, options: Mapping[str, Any]) -> Any:
        """Take the target if it is a graph builder or a compiled graph."""
        if "langgraph" not in sys.modules:
            return None
        from skillcue.langgraph_attach import attach_graph

        return attach_graph(target, cue, options)


class AttachLlamaIndex:
    """``cue.attach`` for LlamaIndex; loads the integration only when LlamaIndex is in use."""

    @hookimpl(trylast=True)
    def skillcue_attach(self, target: Any, cue: SkillCue, options: Mapping[str, Any]) -> Any:
        """Take the target if it is an agent or an agent workflow."""
        if "llama_index.core" not in sys.modules:
            return None
        from skillcue.llamaindex import attach_agent

        return attach_agent(target, cue, options)


class OpenRemoteSources:
    """Skills from a git repository, an archive, an SQLite database or an MCP server."""

    @hookimpl(trylast=True)
    def skillcue_open_source(self, spec: str, cache_dir: Path | None) -> SkillSource | None:
        """Open the texts of `skillcue.remote.specs`."""
        from skillcue.remote.specs import open_spec

        return open_spec(spec, cache_dir)


class Scanner:
    """Looks for what is hostile on the face of a skill and of the files beside it; its rules are
    loaded with the first.
    """

    @hookimpl(trylast=True)
    def skillcue_assess_skill(self, skill: Skill, text: str) -> tuple[Diagnostic, ...] | None:
        """Findings in the whole text and in the names."""
        from skillcue.scanning.report import findings

        return findings(skill, text)

    @hookimpl(trylast=True)
    def skillcue_assess_file(
        self, skill: Skill, path: Path, text: str
    ) -> tuple[Diagnostic, ...] | None:
        """Findings in the whole text of a file."""
        from skillcue.scanning.report import file_findings

        return file_findings(skill, path, text)


def plugins() -> dict[str, object]:
    """Name to plugin, in order of registration."""
    return {
        "builtin": skillcue_adapters.register,
        "langgraph": AttachLangGraph(),
        "llamaindex": AttachLlamaIndex(),
        "sources": OpenRemoteSources(),
        "scanner": Scanner(),
    }
