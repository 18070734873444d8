"""A LangGraph store in place of an encoder: `from_store`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillcue_adapters.vector_stores.langgraph_store import LangGraphLeg
from skillcue_hooks.dense_leg import DenseLeg

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

__all__ = ["from_store"]


def from_store(
    store: BaseStore,
    *,
    namespace: tuple[str, ...] = ("skillcue",),
    tenant: str = "default",
    fingerprint: str = "",
) -> DenseLeg:
    """What ``SkillCue(vectors=...)`` takes, over a LangGraph store with an index, which embeds.

    Args:
        store: The store.
        namespace: Where in the store; items are in ``(*namespace, tenant)``.
        tenant: Whose skills they are; one library a tenant.
        fingerprint: Names the model that embeds, by default the class of the store's embeddings
            and the plain values they hold. Under another name everything is stored anew.

    Raises:
        ConfigurationError: `store` is none or has no index, or `namespace` is none.

    Example:
        >>> cue = SkillCue("skills/", vectors=from_store(store))           # doctest: +SKIP
    """
    return LangGraphLeg(store, namespace, tenant, fingerprint)
