"""Where what is known about texts lives between uses: in memory, and in files if wanted."""

from __future__ import annotations

from skillcue_adapters.index.keys import Keys, Positions, content_keys, keys_of, match_keys
from skillcue_adapters.index.vectors import Located, Rows, VectorStore

__all__ = [
    "Keys",
    "Located",
    "Positions",
    "Rows",
    "VectorStore",
    "content_keys",
    "keys_of",
    "match_keys",
]
