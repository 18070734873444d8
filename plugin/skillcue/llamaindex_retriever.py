"""The library as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from skillcue.extras import checked_cue
from skillcue_hooks import Hit
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["SkillRetriever"]


class SkillRetriever(BaseRetriever):
    """Skills as nodes: the description as text, identity as id and metadata.

    Args:
        cue: The library.
        k: Number of nodes, 1 or more.
        mode: Retrieval mode; None takes ``with skill_mode(...)``, then the default.

    Raises:
        ConfigurationError: `k` is out of range or `mode` is not registered.
    """

    def __init__(self, cue: SkillCue, k: int = 5, mode: str | None = None) -> None:
        if k < 1:
            raise ConfigurationError(f"k is {k}.", "Use 1 or more.")
        if mode is not None:
            cue.check_mode(mode)
        self._cue = checked_cue(cue)
        self._k = k
        self._mode = mode
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        ranking = self._cue.lookup(query_bundle.query_str, k=self._k, mode=self._mode)
        return [_node(hit, ranking.mode) for hit in ranking.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit, mode: str) -> NodeWithScore:
    skill = hit.skill
    node = TextNode(
        id_=skill.id,
        text=f"{skill.name}: {skill.description}",
        metadata={
            "id": skill.id,
            "name": skill.name,
            "path": skill.path.as_posix(),
            "source": skill.source,
            "score": hit.score,
            "rank": hit.rank,
            "mode": mode,
        },
    )
    return NodeWithScore(node=node, score=hit.score)
