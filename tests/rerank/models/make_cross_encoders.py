"""Makes the small ONNX files beside it; ``pip install onnx``, then run it.

overlap  one logit a pair: pairs of equal tokens, one in each text, minus a tenth of the tokens and
         a hundredth of those in the second text
labels   two logits a pair, as a classifier has
nan      as overlap for one token a text, NaN for more
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def node(op: str, inputs: list[str], output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs, [output], **attributes)


def constant(name: str, value: np.ndarray) -> onnx.TensorProto:
    return numpy_helper.from_array(value, name)


OVERLAP = [
    node("Unsqueeze", ["input_ids", "one"], "row"),
    node("Unsqueeze", ["input_ids", "two"], "column"),
    node("Equal", ["row", "column"], "equal"),
    node("Cast", ["equal"], "equal_float", to=FLOAT),
    node("Cast", ["token_type_ids"], "second", to=FLOAT),
    node("Cast", ["attention_mask"], "seen", to=FLOAT),
    node("Sub", ["seen", "second"], "first"),
    node("Unsqueeze", ["first", "two"], "of_first"),
    node("Unsqueeze", ["second", "one"], "of_second"),
    node("Mul", ["equal_float", "of_first"], "left"),
    node("Mul", ["left", "of_second"], "both"),
    node("ReduceSum", ["both", "inside"], "shared", keepdims=0),
    node("ReduceSum", ["seen", "one"], "length", keepdims=0),
    node("Mul", ["length", "tenth"], "cost"),
    node("Sub", ["shared", "cost"], "symmetric"),
    node("ReduceSum", ["second", "one"], "second_length", keepdims=0),
    node("Mul", ["second_length", "hundredth"], "second_cost"),
    node("Sub", ["symmetric", "second_cost"], "flat"),
    node("Unsqueeze", ["flat", "one"], "score"),
]
CONSTANTS = [
    constant("one", np.array([1], dtype=np.int64)),
    constant("two", np.array([2], dtype=np.int64)),
    constant("inside", np.array([1, 2], dtype=np.int64)),
    constant("tenth", np.array(0.1, dtype=np.float32)),
    constant("hundredth", np.array(0.01, dtype=np.float32)),
    constant("five", np.array(5.0, dtype=np.float32)),
]


def write(name: str, nodes: list, columns: int) -> None:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(key, INT64, ["b", "n"]) for key in INPUTS],
        [helper.make_tensor_value_info("logits", FLOAT, ["b", columns])],
        CONSTANTS,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, HERE / f"{name}.onnx")


write("overlap", [*OVERLAP, node("Identity", ["score"], "logits")], 1)
write("labels", [*OVERLAP, node("Concat", ["score", "score"], "logits", axis=1)], 2)
write(
    "nan",
    [
        *OVERLAP,
        node("Sub", ["five", "length"], "left_over"),
        node("Sqrt", ["left_over"], "root"),
        node("Unsqueeze", ["root", "one"], "rooted"),
        node("Add", ["score", "rooted"], "logits"),
    ],
    1,
)
