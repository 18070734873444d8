"""`SkillRetriever` as LlamaIndex uses retrievers."""

from __future__ import annotations

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from support.modes import CountingModes

from skillcue import SkillCue, skill_mode
from skillcue.llamaindex import SkillRetriever
from skillcue_hooks.errors import ConfigurationError, UnknownModeError

QUERY = "fill in a pdf form"


def test_nodes_carry_the_identity_of_the_skill(cue):
    retriever = SkillRetriever(cue, k=3)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUERY)
    assert len(nodes) == 3
    first = nodes[0]
    assert isinstance(first, NodeWithScore)
    assert isinstance(first.node, TextNode)
    assert first.node.metadata["name"] == "pdf-form-filling"
    assert first.node.id_ == first.node.metadata["id"]
    assert first.node.text.startswith("pdf-form-filling: ")
    assert first.node.metadata["path"].endswith("pdf-form-filling/SKILL.md")
    assert first.node.metadata["mode"] == "skillsight"
    assert [node.node.metadata["rank"] for node in nodes] == [1, 2, 3]
    assert first.score >= nodes[1].score >= nodes[2].score


async def test_sync_and_async_agree(cue):
    retriever = SkillRetriever(cue)
    told = [(n.node.id_, n.score) for n in retriever.retrieve(QUERY)]
    assert told == [(n.node.id_, n.score) for n in await retriever.aretrieve(QUERY)]
    assert told


async def test_the_mode_comes_from_the_argument_else_from_the_context(example_skills):
    modes = CountingModes("alpha", "beta")
    with SkillCue(example_skills, plugins=[modes], cache=False) as cue, skill_mode("beta"):
        await SkillRetriever(cue, mode="alpha").aretrieve(QUERY)
        await SkillRetriever(cue).aretrieve(QUERY)
        SkillRetriever(cue).retrieve(QUERY)
    assert [mode for mode, _ in modes.calls] == ["alpha", "beta", "beta"]


def test_mistakes_are_found_when_it_is_built(cue):
    with pytest.raises(ConfigurationError, match="k is 0"):
        SkillRetriever(cue, k=0)
    with pytest.raises(UnknownModeError):
        SkillRetriever(cue, mode="bm52")


def test_nothing_found_is_an_empty_list(cue):
    assert SkillRetriever(cue, mode="bm25").retrieve("qqqqzzzz") == []
