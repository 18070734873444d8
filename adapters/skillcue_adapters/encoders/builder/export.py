"""The transformer as a float ONNX graph."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel

__all__ = ["OPSET", "export_float"]

OPSET = 17
"""The oldest with LayerNormalization as one operator; every onnxruntime from 1.13 on reads it."""


def export_float(weights: Path, target: Path) -> None:
    """Write the model in `weights` to `target`.

    The graph takes ``input_ids`` (int64, shape ``(1, tokens)``) and gives ``last_hidden_state``
    (float32, shape ``(1, tokens, dim)``).
    """
    # The fused attention of PyTorch has no ONNX form that onnxruntime quantises.
    model = AutoModel.from_pretrained(weights, attn_implementation="eager").eval()
    example = torch.tensor([[101, 7592, 2088, 102]])
    model.forward = functools.partial(_token_vectors, model)
    with torch.no_grad():
        torch.onnx.export(
            model,
            (example,),
            str(target),
            dynamo=False,
            opset_version=OPSET,
            input_names=["input_ids"],
            output_names=["last_hidden_state"],
            dynamic_axes={"input_ids": {1: "tokens"}, "last_hidden_state": {1: "tokens"}},
        )


def _token_vectors(model: Any, input_ids: Any) -> Any:
    """One unpadded text: no mask and no segments, so neither gets into the graph."""
    embedded = model.embeddings(input_ids=input_ids, token_type_ids=torch.zeros_like(input_ids))
    return model.encoder(embedded).last_hidden_state
