"""What a model wants in front of a query and of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Prompts", "prompts_from"]

_DOCUMENT_NAMES = ("document", "passage", "corpus")

_WELL_KNOWN = (
    (
        re.compile(r"\bbge-(small|base|large)-en(-v1\.5)?$", re.IGNORECASE),
        "Represent this sentence for searching relevant passages: ",
        "",
    ),
    (
        re.compile(r"\b(multilingual-)?e5-(small|base|large)(-v2)?$", re.IGNORECASE),
        "query: ",
        "passage: ",
    ),
)
"""Model families whose prompts stand on their model card and not in their files."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts that are put in front of what is encoded."""

    query: str = ""
    document: str = ""


def prompts_from(config: Mapping[str, object], model: str) -> Prompts:
    """The prompts of a model.

    Args:
        config: What ``config_sentence_transformers.json`` holds; its prompts win. A query takes
            the one named ``query``, a document the first of ``document``, ``passage`` and
            ``corpus``, as ``encode_query`` and ``encode_document`` of sentence-transformers do.
        model: Name or folder of the model, for families that carry no prompts in their files.
    """
    written = config.get("prompts")
    named = (
        {str(k): str(v or "") for k, v in written.items()} if isinstance(written, Mapping) else {}
    )
    if not any(named.values()):
        for pattern, query, document in _WELL_KNOWN:
            if pattern.search(model.rstrip("/\\")):
                return Prompts(query, document)
    document = next((named[name] for name in _DOCUMENT_NAMES if name in named), "")
    return Prompts(named.get("query", ""), document)
