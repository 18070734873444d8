"""The library as a LangChain retriever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from pydantic import Field

from skillcue.extras import checked_cue
from skillcue.langchain_run import current_run, merged_config
from skillcue.untrusted import marked
from skillcue_hooks import Hit

if TYPE_CHECKING:
    from skillcue.facade import SkillCue

__all__ = ["SkillRetriever"]


class SkillRetriever(BaseRetriever):
    """Skills as documents: the description as content, identity and score as metadata.

    Args:
        cue: The library.
        k: Number of documents; ``invoke(query, None, k=1)`` overrides it for one call.
        mode: Retrieval mode; None as everywhere else.
    """

    cue: Any = Field(exclude=True, repr=False)
    k: int = 5
    mode: str | None = None

    def __init__(self, cue: SkillCue | None = None, **fields: Any) -> None:
        super().__init__(**{"cue": checked_cue(cue), **fields})

    # LangChain hands a retriever no config, and sets none: without these two, a policy would not
    # see the run-time values of a retriever that is called by itself.

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """The documents; see `BaseRetriever.invoke`. Policies get what `config` says."""
        with set_config_context(merged_config(config)) as context:
            return context.run(super().invoke, input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """As `invoke`."""
        with set_config_context(merged_config(config)) as context:
            found = super().ainvoke(input, config, **kwargs)
            return await asyncio.create_task(found, context=context)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        mode: str | None = None,
    ) -> list[Document]:
        return self._search(query, k, mode)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        mode: str | None = None,
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, k, mode)

    def _search(self, query: str, k: int | None, mode: str | None) -> list[Document]:
        run = current_run()
        ranking = self.cue.lookup(
            query,
            k=self.k if k is None else k,
            mode=mode or self.mode or run.mode,
            run_context=run.context,
        )
        return [_document(hit, ranking.mode) for hit in ranking.hits]


def _document(hit: Hit, mode: str) -> Document:
    skill = hit.skill
    return Document(
        id=skill.id,
        page_content=f"{skill.name}: {marked(skill, skill.description)}",
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
