"""The role of a vector store that the user already has: it embeds, keeps vectors and searches them.

It finds texts by meaning and knows nothing of skills. What is put there, who may see it, and how it is
combined with what other words find is up to skillcue.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, runtime_checkable

__all__ = ["DenseLeg"]


@runtime_checkable
class DenseLeg(Protocol):
    """Texts of one tenant in a vector store. Must be safe to call from several threads.

    An id stands for its text: whoever stores one that is there already changes nothing, and the
    same id never comes with another text.

    Attributes:
        fingerprint: Everything that changes a vector, and whose texts they are: embedding model,
            tenant. Equal in every process, since ids are made of it.
        revision: Moves when something was changed through this object, and only then.
    """

    @property
    def fingerprint(self) -> str: ...

    @property
    def revision(self) -> str: ...

    def stored(self, ids: Sequence[str]) -> Collection[str] | None:
        """Those of `ids` that are in the store, whoever put them there; None where it cannot tell."""
        ...

    def upsert(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Store texts, one an id; the store embeds them. When it returns they are found."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Remove texts; unknown ids are passed over. When it returns they are not found."""
        ...

    def search(self, text: str, k: int) -> Sequence[tuple[str, float]]:
        """The `k` texts of the tenant that are most similar to `text`, best first, each once.

        Fewer than `k` only where the tenant has no more.

        Args:
            text: What is looked for.
            k: 1 or more.

        Returns:
            ``(id, score)``; higher is better, on the store's own scale.
        """
        ...
