"""One text or object names an encoder: ``minilm``, ``static``, ``onnx:/path``, ``st:model``, ..."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from skillcue_hooks.errors import ConfigurationError, PluginError, closest_names
from skillcue_hooks.protocols import Encoder

__all__ = ["EncoderFactory", "open_encoder"]

EncoderFactory = Callable[[str], Encoder]
"""Gets what stands behind the colon of a spec; the empty text where there is no colon."""


def open_encoder(spec: object, registry: Mapping[str, str | EncoderFactory]) -> Encoder:
    """The encoder that `spec` names. Models are loaded when first used, not here.

    Args:
        spec: A text ``scheme`` or ``scheme:argument``, an `Encoder`, a LangChain ``Embeddings``
            or a LlamaIndex ``BaseEmbedding``.
        registry: Scheme to factory or ``"package.module:factory"``, as plugins register them.

    Raises:
        ConfigurationError: The scheme is unknown, its argument is wrong, the model is not on
            disk, or the object is no encoder.
        MissingExtraError: The encoder needs a package that is not installed.
        PluginError: A registered factory cannot be imported or gives no encoder.
    """
    if not isinstance(spec, str):
        from skillcue_adapters.encoders.objects import encoder_of

        return encoder_of(spec)
    scheme, _, argument = spec.partition(":")
    if scheme not in registry:
        raise _unknown(spec, scheme, registry)
    encoder = _factory(scheme, registry[scheme])(argument)
    if not _is_encoder(encoder):
        raise PluginError(
            f"The factory of encoder {scheme!r} returned a {type(encoder).__name__}.",
            "It must return an object with encode_documents, encode_queries, fingerprint and dim.",
        )
    return encoder


def _unknown(spec: str, scheme: str, known: Mapping[str, Any]) -> ConfigurationError:
    near = closest_names(scheme, known, limit=1)
    if near:
        hint = f"Did you mean {near[0]!r}? "
    elif any(mark in spec for mark in "/\\"):
        hint = f"A model folder is 'onnx:{spec}' or 'st:{spec}'. "
    else:
        hint = ""
    names = ", ".join(sorted(known)) or "none"
    return ConfigurationError(
        f"Unknown encoder {spec!r}.",
        f"{hint}Encoders: {names}. A plugin adds one with the skillcue_register_encoders hook.",
    )


def _factory(scheme: str, registered: str | EncoderFactory) -> EncoderFactory:
    if not isinstance(registered, str):
        return registered
    module_name, _, attribute = registered.partition(":")
    try:
        found: EncoderFactory = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"Encoder {scheme!r} is registered as {registered!r}, which cannot be imported: "
            f"{error}.",
            'The form is "package.module:factory"; is its package installed?',
        ) from error
    return found


def _is_encoder(value: object) -> bool:
    # Not isinstance(value, Encoder): that reads `fingerprint` and `dim`, which may load a model.
    methods = ("encode_documents", "encode_queries")
    return all(callable(getattr(value, name, None)) for name in methods)
