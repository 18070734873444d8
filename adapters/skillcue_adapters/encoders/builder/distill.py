"""A vector for every token, by model2vec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from model2vec.distill import distill

from skillcue_adapters.encoders.builder.quantize import row_int8

__all__ = ["DIM", "distill_table"]

DIM = 256
"""Length of a vector after PCA."""


def distill_table(weights: Path, target: Path) -> None:
    """Write ``table.npy``, ``scales.npy`` and ``tokenizer.json`` of the model in `weights` into the
    folder `target`.

    Tokens that model2vec leaves out of a text, the unknown one, get a row of zeros.
    """
    model = distill(str(weights), pca_dims=DIM, quantize_to="float32")
    vectors = np.array(model.embedding, dtype=np.float32)
    if model.unk_token_id is not None:
        vectors[model.unk_token_id] = 0
    rows, scales = row_int8(vectors)
    np.save(target / "table.npy", rows)
    np.save(target / "scales.npy", scales)
    model.tokenizer.no_truncation()
    model.tokenizer.save(str(target / "tokenizer.json"), pretty=False)
