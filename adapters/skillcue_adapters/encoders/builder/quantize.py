"""Float ONNX graph to int8, in four steps.

1. Embedding tables: int8 with one scale a row.
2. The second half of each feed-forward block gets inputs of similar size (SmoothQuant, Xiao et
   al. 2023, https://arxiv.org/abs/2211.10438, eq. 3). A few of its 1,536 inputs are ten times as
   large as the others, and one scale for all of them is what costs most.
3. Matrices: int8 with one scale a column, activations scaled when they are seen
   (``quantize_dynamic`` of onnxruntime).
4. The scales of step 3 once more, so large that no instruction can overflow. Processors without
   VNNI add two products of 8 bits in 16 bits and clip the sum; onnxruntime's answer is
   ``reduce_range``, 7 bits for every weight. Enough is that no two weights that are added there
   exceed 128 together, which leaves most of them their eighth bit. The products are then exact,
   and so the same on every processor.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

__all__ = ["column_scales", "quantize", "row_int8"]

_PROBES, _PROBE_TOKENS = 100, 62
"""Made-up texts that show how large the inputs of a matrix become, and tokens in each."""
_FIRST_WORD, _VOCABULARY, _CLS, _SEP = 999, 30_522, 101, 102
"""Ids in the vocabulary: the first that is no control token, its size, the two around a text."""
_SMALLEST_INPUT = 0.2
"""Inputs that the made-up texts hardly use count as if they were as large as this."""
_PAIR_LIMIT = 127
"""Two weights of equal sign that are added in 16 bits; 255 x 128 would still fit, and rounding
may add 1."""


def quantize(source: Path, target: Path) -> None:
    """Write the float graph `source` as int8 to `target`."""
    model = onnx.load(str(source))
    _split_embeddings(model)
    _even_out(model)
    floats = _matrices(model)
    quantize_dynamic(
        model,
        target,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
    )
    quantized = onnx.load(str(target))
    _replace_scales(quantized, floats)
    del quantized.metadata_props[:]
    onnx.checker.check_model(quantized)
    onnx.save(quantized, str(target))


def row_int8(table: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """``(rows, scales)`` of shape ``(n, dim)`` and ``(n,)``: ``rows * scales[:, None]`` is `table`.

    A row of zeros has scale 0.
    """
    scales = (np.abs(table).max(axis=1) / 127).astype(np.float32)
    divisor = np.where(scales > 0, scales, 1)[:, None]
    return np.rint(table / divisor).astype(np.int8), scales


def column_scales(weights: NDArray[Any]) -> NDArray[np.float32]:
    """Scale of each column of a matrix of shape ``(inputs, outputs)``, see step 4 above."""
    even, odd = weights[0::2], weights[1::2]
    pairs = [np.maximum(sign * even, 0) + np.maximum(sign * odd, 0) for sign in (1, -1)]
    largest = np.max([pair.max(axis=0) for pair in pairs], axis=0)
    return np.asarray(largest / _PAIR_LIMIT, dtype=np.float32)


def _split_embeddings(model: Any) -> None:
    tables = {i.name: i for i in model.graph.initializer if len(i.dims) == 2}
    nodes = list(model.graph.node)
    for node in [n for n in nodes if n.op_type == "Gather" and n.input[0] in tables]:
        name, out = node.input[0], node.output[0]
        rows, scales = row_int8(numpy_helper.to_array(tables[name]))
        model.graph.initializer.remove(tables[name])
        model.graph.initializer.append(numpy_helper.from_array(rows, f"{name}_int8"))
        model.graph.initializer.append(numpy_helper.from_array(scales[:, None], f"{name}_scales"))
        at = nodes.index(node)
        nodes[at : at + 1] = [
            helper.make_node("Gather", [f"{name}_int8", node.input[1]], [f"{out}_int8"]),
            helper.make_node("Cast", [f"{out}_int8"], [f"{out}_float"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scales", node.input[1]], [f"{out}_scales"]),
            helper.make_node("Mul", [f"{out}_float", f"{out}_scales"], [out]),
        ]
    _set_nodes(model, nodes)


def _even_out(model: Any) -> None:
    nodes = list(model.graph.node)
    weights = {i.name: i for i in model.graph.initializer}
    # The only matrices with more inputs than outputs.
    blocks = [n for n in _products(model) if operator.gt(*weights[n.input[1]].dims)]
    for block, largest in zip(blocks, _largest_inputs(model, blocks), strict=True):
        source, name = block.input[0], block.input[1]
        factors = np.sqrt(np.maximum(largest, _SMALLEST_INPUT))
        factors = (factors / np.exp(np.log(factors).mean())).astype(np.float32)
        evened = numpy_helper.to_array(weights[name]) * factors[:, None]
        weights[name].CopyFrom(numpy_helper.from_array(evened, name))
        model.graph.initializer.append(numpy_helper.from_array(1 / factors, f"{name}_even"))
        block.input[0] = f"{source}_even"
        divide = helper.make_node("Mul", [source, f"{name}_even"], [f"{source}_even"])
        nodes.insert(nodes.index(block), divide)
    _set_nodes(model, nodes)


def _largest_inputs(model: Any, blocks: Sequence[Any]) -> list[NDArray[Any]]:
    """Largest absolute value of each input of each block over made-up texts."""
    names = [block.input[0] for block in blocks]
    probed = onnx.ModelProto()
    probed.CopyFrom(model)
    probed.graph.output.extend(
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    session = onnxruntime.InferenceSession(probed.SerializeToString())
    words = np.random.default_rng(0).integers(_FIRST_WORD, _VOCABULARY, (_PROBES, _PROBE_TOKENS))
    largest = [np.zeros(1)] * len(names)
    for row in words:
        text = np.array([[_CLS, *row, _SEP]], dtype=np.int64)
        found = session.run(names, {"input_ids": text})
        largest = [
            np.maximum(old, np.abs(new[0]).max(axis=0))
            for old, new in zip(largest, found, strict=True)
        ]
    return largest


def _replace_scales(quantized: Any, floats: Mapping[str, NDArray[Any]]) -> None:
    tensors = {i.name: i for i in quantized.graph.initializer}
    for name, weights in floats.items():
        scales = column_scales(weights)
        rows = np.rint(weights / scales).astype(np.int8)
        for key, value in ((f"{name}_quantized", rows), (f"{name}_scale", scales)):
            tensors[key].CopyFrom(numpy_helper.from_array(value, key))


def _products(model: Any) -> list[Any]:
    """Products with a matrix of the model, in order."""
    weights = {i.name for i in model.graph.initializer}
    return [n for n in model.graph.node if n.op_type == "MatMul" and n.input[1] in weights]


def _matrices(model: Any) -> dict[str, NDArray[Any]]:
    weights = {i.name: i for i in model.graph.initializer}
    return {n.input[1]: numpy_helper.to_array(weights[n.input[1]]) for n in _products(model)}


def _set_nodes(model: Any, nodes: Sequence[Any]) -> None:
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)
