"""The built-in plugin: every retriever and every encoder of this package, by name.

Names point at factories as text, so that registering imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from skillcue_hooks.markers import hookimpl
from skillcue_hooks.protocols import Encoder, RetrieverFactory

__all__ = ["skillcue_register_encoders", "skillcue_register_retrievers"]


@hookimpl
def skillcue_register_retrievers(
    register: Callable[[str, str | RetrieverFactory], None],
) -> None:
    register("bm25", "skillcue_adapters.bm25:build")
    register("dense", "skillcue_adapters.dense:build")
    register("expand", "skillcue_adapters.expand:build")
    register("hybrid", "skillcue_adapters.hybrid:build")
    register("refine", "skillcue_adapters.refine.retriever:build")
    register("skillsight", "skillcue_adapters.skillsight:build")
    register("two_stage", "skillcue_adapters.two_stage:build")


@hookimpl
def skillcue_register_encoders(
    register: Callable[[str, str | Callable[[str], Encoder]], None],
) -> None:
    register("minilm", "skillcue_adapters.encoders.minilm:build")
    register("static", "skillcue_adapters.encoders.static:build")
    register("onnx", "skillcue_adapters.encoders.onnx_model:build")
    register("st", "skillcue_adapters.encoders.st:build")
