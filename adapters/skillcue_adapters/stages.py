"""What a retriever takes from outside: the stages of other modes, and an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skillcue_adapters.bm25 import Bm25Retriever, build_in_memory
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.protocols import Encoder

__all__ = ["bm25_stage", "built_in_encoders", "default_base", "innermost", "semantic_inputs"]

DEFAULT_ENCODER = "minilm"
"""Used where whoever builds the retriever opens no encoders."""


def innermost(retriever: Any) -> Any:
    """The retriever itself, without the caches around it."""
    while hasattr(retriever, "inner"):
        retriever = retriever.inner
    return retriever


def bm25_stage(library: Library, context: RetrieverContext) -> Bm25Retriever:
    """The `Bm25Retriever` of mode ``bm25`` over the same library.

    A plugin may have put something else under that name; then one with default settings is
    built here.
    """
    found = innermost(context.retriever("bm25"))
    if isinstance(found, Bm25Retriever):
        return found
    return build_in_memory(library, RetrieverContext("bm25", {}, None, context.retriever))


def default_base(context: RetrieverContext) -> str:
    """The mode that others build on where their settings name none."""
    return "skillsight" if context.defaults.get("vectors") is None else "hybrid"


def semantic_inputs(context: RetrieverContext) -> tuple[Encoder, dict[str, Any]]:
    """The encoder of a mode, and its other settings with the common default of ``bodies``.

    The encoder is the one named in the mode's settings, else the one chosen for all modes.

    Raises:
        ConfigurationError: There is no such encoder.
        MissingExtraError: It needs a package that is not installed.
    """
    given = dict(context.settings)
    spec = given.pop("encoder", None)
    if "bodies" in context.defaults:
        given.setdefault("bodies", context.defaults["bodies"])
    if context.encoder is not None:
        encoder: Encoder = context.encoder(spec)
        return encoder, given
    from skillcue_adapters.encoders import open_encoder

    wanted = context.defaults.get("encoder", DEFAULT_ENCODER) if spec is None else spec
    return open_encoder(wanted, built_in_encoders()), given


def built_in_encoders() -> dict[str, str | Callable[[str], Encoder]]:
    """The encoders of this package by scheme, as `open_encoder` takes them."""
    from skillcue_adapters.register import skillcue_register_encoders

    found: dict[str, str | Callable[[str], Encoder]] = {}
    skillcue_register_encoders(register=found.__setitem__)
    return found
