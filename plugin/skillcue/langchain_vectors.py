"""A LangChain vector store in place of an encoder: `from_vectorstore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillcue_adapters.vector_stores.langchain_store import LangChainLeg
from skillcue_hooks.dense_leg import DenseLeg

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

__all__ = ["from_vectorstore"]


def from_vectorstore(
    store: VectorStore, *, tenant: str = "default", filter: Any = None, fingerprint: str = ""
) -> DenseLeg:
    """What ``SkillCue(vectors=...)`` takes, over a LangChain vector store, which embeds.

    Args:
        store: The store. It may hold other documents as well.
        tenant: Whose skills they are; one library a tenant. It stands in the field
            ``skillcue_tenant`` of each document's metadata.
        filter: What `store` takes as ``filter`` to leave out all but the tenant, in its own
            syntax; without one more is asked for until there is enough of the tenant.
        fingerprint: Names the model that embeds, by default the class of the store's embeddings
            and the plain values they hold. Under another name everything is stored anew.

    Raises:
        ConfigurationError: `store` is none, or does not show its embeddings.

    Example:
        >>> cue = SkillCue("skills/", vectors=from_vectorstore(store))     # doctest: +SKIP
    """
    return LangChainLeg(store, tenant, filter, fingerprint)
