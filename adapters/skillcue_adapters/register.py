"""The built-in plugin: every retriever of this package, by name.

Names point at factories as text, so that registering imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from skillcue_hooks.markers import hookimpl
from skillcue_hooks.protocols import RetrieverFactory

__all__ = ["skillcue_register_retrievers"]


@hookimpl
def skillcue_register_retrievers(
    register: Callable[[str, str | RetrieverFactory], None],
) -> None:
    register("bm25", "skillcue_adapters.bm25:build")
