"""The library as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from skillcue.extras import checked_cue
from skillcue.untrusted import marked
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
        run_context: Run-time values for policy plugins, or a function that gives those of the
            moment: a retriever of LlamaIndex is handed no context of a run.

    Raises:
        ConfigurationError: `k` is out of range, `mode` is not registered or `run_context` is
            neither values nor a function.
    """

    def __init__(
        self,
        cue: SkillCue,
        k: int = 5,
        mode: str | None = None,
        run_context: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        if k < 1:
            raise ConfigurationError(f"k is {k}.", "Use 1 or more.")
        if mode is not None:
            cue.check_mode(mode)
        if not (run_context is None or isinstance(run_context, Mapping) or callable(run_context)):
            raise ConfigurationError(
                f"run_context is a {type(run_context).__name__}.",
                "Pass values by name, or a function that gives them.",
            )
        self._cue = checked_cue(cue)
        self._run_context = run_context
        self._k = k
        self._mode = mode
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        values = self._run_context() if callable(self._run_context) else self._run_context
        ranking = self._cue.lookup(
            query_bundle.query_str, k=self._k, mode=self._mode, run_context=values
        )
        return [_node(hit, ranking.mode) for hit in ranking.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit, mode: str) -> NodeWithScore:
    skill = hit.skill
    node = TextNode(
        id_=skill.id,
        text=f"{skill.name}: {marked(skill, skill.description)}",
        metadata={
            "id": skill.id,
            "name": skill.name,
            "path": skill.path.as_posix(),
            "source": skill.source,
            "trust": skill.trust,
            "score": hit.score,
            "rank": hit.rank,
            "mode": mode,
        },
    )
    return NodeWithScore(node=node, score=hit.score)
