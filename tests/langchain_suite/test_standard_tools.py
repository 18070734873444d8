"""LangChain's own suites on the tools and the retriever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from skillcue import SkillCue
from skillcue.langchain import SkillRetriever, skill_tools

SKILLS = Path(__file__).resolve().parents[2] / "examples" / "skills"
CUE = SkillCue(SKILLS)


def _tool(name: str) -> BaseTool:
    return next(t for t in skill_tools(CUE) if t.name == name)


class _Lookup:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("skill_lookup")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "merge pdf files", "k": 2}


class _Load:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("skill_load")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"name": "git-bisect"}


class _List:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tool("skill_list")

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"page": 1}


class TestLookupUnit(_Lookup, ToolsUnitTests):
    pass


class TestLookupIntegration(_Lookup, ToolsIntegrationTests):
    pass


class TestLoadUnit(_Load, ToolsUnitTests):
    pass


class TestLoadIntegration(_Load, ToolsIntegrationTests):
    pass


class TestListUnit(_List, ToolsUnitTests):
    pass


class TestListIntegration(_List, ToolsIntegrationTests):
    pass


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[SkillRetriever]:
        return SkillRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"cue": CUE}

    @property
    def retriever_query_example(self) -> str:
        return "fill in, merge or read a pdf file"


def test_documents_carry_identity_and_score():
    documents = SkillRetriever(CUE, k=2).invoke("merge pdf files")
    assert documents[0].metadata["name"] == "pdf-merge-split"
    assert documents[0].id == documents[0].metadata["id"]
    assert documents[0].metadata["score"] >= documents[1].metadata["score"]


def test_an_unknown_mode_is_an_error():
    with pytest.raises(ValueError, match="nope"):
        SkillRetriever(CUE, mode="nope").invoke("merge pdf files")
