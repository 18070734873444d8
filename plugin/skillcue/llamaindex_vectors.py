"""An index or vector store of LlamaIndex in place of an encoder: `from_llamaindex`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillcue_adapters.vector_stores.llamaindex_store import LlamaIndexLeg
from skillcue_hooks.dense_leg import DenseLeg

if TYPE_CHECKING:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

__all__ = ["from_llamaindex"]


def from_llamaindex(
    index: VectorStoreIndex | BasePydanticVectorStore,
    *,
    tenant: str = "default",
    embed_model: Any = None,
    fingerprint: str = "",
) -> DenseLeg:
    """What ``SkillCue(vectors=...)`` takes, over a LlamaIndex index, which embeds.

    Args:
        index: A ``VectorStoreIndex``, or a vector store that keeps the texts of its nodes. It
            may hold other nodes as well.
        tenant: Whose skills they are; one library a tenant. It stands in the field
            ``skillcue_tenant`` of each node's metadata, by which the store filters.
        embed_model: Embeds, where `index` is a vector store; None takes that of LlamaIndex's
            ``Settings``.
        fingerprint: Names the model that embeds, by default its class and the plain values it
            holds. Under another name everything is stored anew.

    Raises:
        ConfigurationError: `index` is none, or a vector store that keeps no texts.

    Example:
        >>> cue = SkillCue("skills/", vectors=from_llamaindex(index))      # doctest: +SKIP
    """
    return LlamaIndexLeg(index, tenant, embed_model, fingerprint)
