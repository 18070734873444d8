"""One text or object names a pair scorer: ``onnx:/path``, ``st:model``, ``lm:model``, ..."""

from __future__ import annotations

import importlib
from typing import cast

from skillcue_hooks.errors import ConfigurationError, closest_names
from skillcue_hooks.protocols import PairScorer

__all__ = ["open_pair_scorer"]

_MODULES = {
    "lm": "skillcue_adapters.rerankers.lm_pairs",
    "onnx": "skillcue_adapters.rerankers.onnx_pairs",
    "st": "skillcue_adapters.rerankers.st_pairs",
}


def open_pair_scorer(spec: object) -> PairScorer:
    """The pair scorer that `spec` names. Models are loaded by ``warm_up()`` or when first used.

    Args:
        spec: A text ``scheme:model``, a `PairScorer`, a LangChain ``BaseDocumentCompressor`` or a
            LlamaIndex ``BaseNodePostprocessor``.

    Raises:
        ConfigurationError: The scheme is unknown, the model is not on disk, or the object is no
            pair scorer.
        MissingExtraError: The scorer needs a package that is not installed.
    """
    if not isinstance(spec, str):
        from skillcue_adapters.rerankers.objects import pair_scorer_of

        return pair_scorer_of(spec)
    scheme, _, argument = spec.partition(":")
    if scheme not in _MODULES:
        raise _unknown(spec, scheme)
    if not argument:
        raise ConfigurationError(
            f"Cross-encoder {scheme!r} needs a model.", f"Name its folder: {scheme}:/path/to/model."
        )
    return cast(PairScorer, importlib.import_module(_MODULES[scheme]).build(argument))


def _unknown(spec: str, scheme: str) -> ConfigurationError:
    near = closest_names(scheme, _MODULES, limit=1)
    if near:
        hint = f"Did you mean {near[0]!r}? "
    elif any(mark in spec for mark in "/\\"):
        hint = f"A model is 'onnx:{spec}', 'st:{spec}' or 'lm:{spec}'. "
    else:
        hint = ""
    return ConfigurationError(
        f"Unknown cross-encoder {spec!r}.",
        f"{hint}Give onnx:/path, st:model or lm:model, or an object with a method score.",
    )
