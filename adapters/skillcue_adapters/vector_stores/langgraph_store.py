"""A LangGraph ``BaseStore`` with an index as dense leg."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp

from skillcue_adapters.vector_stores.identity import leg_fingerprint
from skillcue_adapters.vector_stores.leg import ID, TENANT, Found, Record, StoreLeg
from skillcue_hooks.errors import ConfigurationError

__all__ = ["LangGraphLeg"]

_TEXT = "text"


class LangGraphLeg(StoreLeg):
    """Texts below one namespace of a LangGraph store; each tenant has a namespace of its own.

    Args:
        store: The store; it embeds by its index.
        namespace: Under which the tenants are.
        tenant: See `StoreLeg`.
        fingerprint: Names the vectors; by default class and settings of the store's embeddings.
    """

    def __init__(
        self, store: BaseStore, namespace: tuple[str, ...], tenant: str, fingerprint: str = ""
    ) -> None:
        if not isinstance(store, BaseStore):
            raise ConfigurationError(
                f"A {type(store).__name__} is no LangGraph store.",
                "Pass an object whose class is a langgraph BaseStore.",
            )
        _check_namespace(namespace)
        if getattr(store, "index_config", True) is None:
            raise ConfigurationError(
                f"The {type(store).__name__} has no index, and so it searches by no meaning.",
                'Make it with one: index={"dims": 384, "embed": embeddings}.',
            )
        embeddings = getattr(store, "embeddings", None)
        identity = leg_fingerprint(store, embeddings, tenant, fingerprint, *namespace)
        super().__init__(identity, tenant, filtered=False)
        self._store = store
        self._namespace = (*namespace, tenant)

    def _held(self, keys: Sequence[str]) -> Collection[str]:
        items = self._store.batch([GetOp(self._namespace, key) for key in keys])
        return {key for key, item in zip(keys, items, strict=True) if item is not None}

    def _put(self, records: Sequence[Record]) -> None:
        self._store.batch(
            [
                PutOp(self._namespace, r.key, {**r.fields, _TEXT: r.text}, index=[_TEXT])
                for r in records
            ]
        )

    def _remove(self, keys: Sequence[str]) -> None:
        self._store.batch([PutOp(self._namespace, key, None) for key in keys])

    def _find(self, text: str, count: int, filtered: bool) -> Sequence[Found]:
        items = self._store.search(self._namespace, query=text, limit=count)
        return [self._found(item) for item in items]

    def _found(self, item: Any) -> Found:
        # The namespaces below this one are searched as well, and items without vectors fill up.
        own = tuple(item.namespace) == self._namespace and item.score is not None
        value = item.value if own else {}
        return Found(value.get(ID), value.get(TENANT), item.score or 0.0)


def _check_namespace(namespace: object) -> None:
    parts = namespace if isinstance(namespace, tuple) else ()
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ConfigurationError(
            f"namespace is {namespace!r}.", 'Pass a tuple of texts, such as ("skills",).'
        )
