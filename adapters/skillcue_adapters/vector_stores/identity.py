"""The fingerprint of a dense leg: by which model a store embeds, and whose texts are meant."""

from __future__ import annotations

from typing import Any

from skillcue_adapters.encoders.describe import describe
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["leg_fingerprint"]


def leg_fingerprint(store: Any, embeddings: Any, tenant: str, given: str, *more: str) -> str:
    """Hex digits that are equal exactly where vectors can be taken over.

    Args:
        store: Counts with its class.
        embeddings: Counts with its class and the plain values it holds; None where the store
            does not show it.
        tenant: A text that is not empty.
        given: Stands for `embeddings` where it is not empty.
        more: Whatever else tells texts apart.

    Raises:
        ConfigurationError: The tenant is no text, or nothing tells what the vectors are.
    """
    if not isinstance(tenant, str) or not tenant:
        raise ConfigurationError(f"tenant is {tenant!r}.", "Pass a text that is not empty.")
    if not isinstance(given, str):
        raise ConfigurationError(f"fingerprint is {given!r}.", "Pass a text.")
    if not given and embeddings is None:
        raise ConfigurationError(
            f"The {type(store).__name__} does not show by which model it embeds.",
            'Name it: fingerprint="model and version". Another name uploads everything again.',
        )
    kind = f"{type(store).__module__}.{type(store).__qualname__}"
    return fingerprint("leg", kind, given or describe(embeddings), tenant, *more)
