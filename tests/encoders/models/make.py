"""Makes the small ONNX files beside it; ``pip install onnx``, then run it.

Vectors are rows of a table of 12 tokens and 4 numbers, so that results can be told by hand.

tokens    ``last_hidden_state``: row of each token, times its attention mask, plus its segment
pooled    ``sentence_embedding``: mean of the rows, plus the mean of the positions; int32 inputs
image     wants an input that no text has
external  as tokens without mask and segments, its table in external.onnx_data
several   as external, with another output before ``last_hidden_state``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
TABLE = np.random.default_rng(5).normal(size=(12, 4)).astype(np.float32)
TOKENS = [1, "n", 4]
INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT


def table() -> onnx.TensorProto:
    return numpy_helper.from_array(TABLE, "table")


def write(name: str, nodes: list, inputs: dict[str, int], **outputs: list) -> None:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(key, kind, [1, "n"]) for key, kind in inputs.items()],
        [helper.make_tensor_value_info(key, FLOAT, shape) for key, shape in outputs.items()],
        [table(), numpy_helper.from_array(np.array([2], dtype=np.int64), "last")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, HERE / f"{name}.onnx")


def node(op: str, inputs: list[str], output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs, [output], **attributes)


def column(source: str, output: str) -> list[onnx.NodeProto]:
    return [
        node("Cast", [source], f"{output}_float", to=FLOAT),
        node("Unsqueeze", [f"{output}_float", "last"], output),
    ]


write(
    "tokens",
    [
        node("Gather", ["table", "input_ids"], "rows"),
        *column("attention_mask", "mask"),
        *column("token_type_ids", "segment"),
        node("Mul", ["rows", "mask"], "seen"),
        node("Add", ["seen", "segment"], "last_hidden_state"),
    ],
    {"input_ids": INT64, "attention_mask": INT64, "token_type_ids": INT64},
    last_hidden_state=TOKENS,
)
write(
    "pooled",
    [
        node("Gather", ["table", "input_ids"], "rows"),
        *column("position_ids", "position"),
        node("Add", ["rows", "position"], "placed"),
        node("ReduceMean", ["placed"], "sentence_embedding", axes=[1], keepdims=0),
    ],
    {"input_ids": INT32, "position_ids": INT32},
    sentence_embedding=[1, 4],
)
write(
    "image",
    [*column("pixel_values", "last_hidden_state")],
    {"pixel_values": INT64},
    last_hidden_state=TOKENS,
)
write(
    "external",
    [node("Gather", ["table", "input_ids"], "last_hidden_state")],
    {"input_ids": INT64},
    last_hidden_state=TOKENS,
)
write(
    "several",
    [
        node("Gather", ["table", "input_ids"], "last_hidden_state"),
        node("Neg", ["last_hidden_state"], "logits"),
    ],
    {"input_ids": INT64},
    logits=TOKENS,
    last_hidden_state=TOKENS,
)
(HERE / "external.onnx_data").unlink(missing_ok=True)  # it would be appended to
model = onnx.load(HERE / "external.onnx")
onnx.save(
    model,
    HERE / "external.onnx",
    save_as_external_data=True,
    location="external.onnx_data",
    size_threshold=0,
)
