"""Embedding objects of LangChain and LlamaIndex as encoders, known by their methods.

Nothing is imported from either framework.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from skillcue_adapters.encoders.describe import check_fingerprint, describe
from skillcue_adapters.encoders.rows import Rows, checked_texts, unit
from skillcue_adapters.lazy import cached_property
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint as fingerprint_of
from skillcue_hooks.protocols import Encoder

__all__ = ["FrameworkEncoder", "encoder_of"]


@dataclass(frozen=True, slots=True)
class _Framework:
    """How a framework spells what an encoder does."""

    name: str
    documents: str
    query: str


_FRAMEWORKS = (
    _Framework("llamaindex", "get_text_embedding_batch", "get_query_embedding"),
    _Framework("langchain", "embed_documents", "embed_query"),
)


class FrameworkEncoder:
    """An `Encoder` over a LangChain ``Embeddings`` or a LlamaIndex ``BaseEmbedding``.

    As safe to share between threads, to fork and to pickle as the object itself. Prompts are the
    object's own. A text is encoded as the object does it, so its vector may differ in the last
    digits alone and among others.

    Args:
        embeddings: The object.
        fingerprint: Names its vectors. By default the object's class and the plain values it
            holds, keys and passwords apart, which is what tells one model from another in the
            classes of both frameworks. Give one when a vector depends on something else, such as
            a model that a server chooses.

    Raises:
        ConfigurationError: The object has the methods of neither framework.
    """

    def __init__(self, embeddings: Any, fingerprint: str = "") -> None:
        framework = _framework_of(embeddings)
        if framework is None:
            raise ConfigurationError(
                f"A {type(embeddings).__name__} is no encoder.",
                'Pass a spec such as "minilm", an Encoder, a LangChain Embeddings or a LlamaIndex '
                "BaseEmbedding.",
            )
        self._embeddings = embeddings
        self._framework = framework
        # Now, and not when asked for: counters and caches in the object change while it works.
        self.fingerprint = fingerprint_of(
            "object", framework.name, fingerprint or describe(embeddings)
        )

    @cached_property
    def dim(self) -> int:
        """Length of a vector; encodes one word to find out."""
        return len(self._query("dimension"))

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """Unit vectors of shape ``(len(texts), dim)``; zero for a blank text, which many services
        refuse.

        Raises:
            ConfigurationError: The object gives something else than one vector a text.
            TypeError: `texts` is not a sequence of texts.
        """
        encode: Callable[[list[str]], Any] = getattr(self._embeddings, self._framework.documents)
        return self._rows(texts, encode)

    def encode_queries(self, texts: Sequence[str]) -> Rows:
        """As `encode_documents`, one call for each text."""
        return self._rows(texts, lambda filled: [self._query(text) for text in filled])

    def _query(self, text: str) -> Any:
        return getattr(self._embeddings, self._framework.query)(text)

    def _rows(self, texts: Sequence[str], encode: Callable[[list[str]], Any]) -> Rows:
        listed = checked_texts(texts)
        filled = [index for index, text in enumerate(listed) if text.strip()]
        found = encode([listed[index] for index in filled]) if filled else []
        vectors = [unit(np.asarray(vector, dtype=np.float64)) for vector in found]
        rows = np.zeros((len(listed), self.dim), dtype=np.float32)
        if len(vectors) != len(filled) or any(v.shape != (self.dim,) for v in vectors):
            shapes = sorted({str(vector.shape) for vector in vectors})
            raise ConfigurationError(
                f"{type(self._embeddings).__name__} gave {len(vectors)} vectors of shape "
                f"{', '.join(shapes)} for {len(filled)} texts; its queries have {self.dim} numbers.",
                "Pass an object whose documents and queries have vectors of one length.",
            )
        for index, vector in zip(filled, vectors, strict=True):
            rows[index] = vector
        return rows


def encoder_of(value: object) -> Encoder:
    """`value` itself where it is an `Encoder`, else a `FrameworkEncoder` around it.

    Raises:
        ConfigurationError: It is neither, or a class instead of an object.
    """
    if isinstance(value, type):
        raise ConfigurationError(
            f"{value.__name__} is a class, not an encoder.", f"Pass an object: {value.__name__}()."
        )
    if all(callable(getattr(value, name, None)) for name in ("encode_documents", "encode_queries")):
        check_fingerprint(value)
        return cast(Encoder, value)
    return FrameworkEncoder(value)


def _framework_of(value: object) -> _Framework | None:
    for framework in _FRAMEWORKS:
        if all(callable(getattr(value, n, None)) for n in (framework.documents, framework.query)):
            return framework
    return None
