"""Make the shipped model files anew, and compare them with the ones that are shipped.

::

    pip install "skillcue[build-encoders]"
    python -m skillcue_adapters.encoders.build_models --out /tmp/models --compare examples/skills

Other versions of the tools give other bytes, so a rebuild is judged by its vectors. Takes about
two minutes and 2 GB of memory.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from skillcue_adapters.encoders.minilm import pinned_folder
from skillcue_adapters.encoders.model_folder import ModelFolder
from skillcue_adapters.encoders.onnx_model import OnnxEncoder
from skillcue_adapters.encoders.static import StaticEncoder

__all__ = [
    "LEAST",
    "LEAST_MEAN",
    "LEAST_OVERLAP",
    "LEAST_SPEED",
    "build_minilm",
    "build_static",
    "main",
]

LEAST_MEAN, LEAST, LEAST_OVERLAP = 0.99, 0.97, 0.85
"""What int8 must keep of the float model: cosine, mean and smallest; top-10 overlap."""
LEAST_SPEED = 1.7
"""How much faster than the float model int8 must be."""
MINILM_DIM, MINILM_TOKENS, STATIC_TOKENS = 384, 256, 512


def build_minilm(weights: Path, target: Path, float_model: Path) -> None:
    """Write the ``minilm`` files into the folder `target`, and the float graph to `float_model`."""
    from skillcue_adapters.encoders.builder.export import export_float
    from skillcue_adapters.encoders.builder.manifest import write_manifest
    from skillcue_adapters.encoders.builder.quantize import quantize

    target.mkdir(parents=True, exist_ok=True)
    export_float(weights, float_model)
    quantize(float_model, target / "model.onnx")
    shutil.copyfile(weights / "tokenizer.json", target / "tokenizer.json")
    write_manifest(target, ("model.onnx", "tokenizer.json"), MINILM_DIM, MINILM_TOKENS)


def build_static(weights: Path, target: Path) -> None:
    """Write the ``static`` files into the folder `target`."""
    from skillcue_adapters.encoders.builder.distill import DIM, distill_table
    from skillcue_adapters.encoders.builder.manifest import write_manifest

    target.mkdir(parents=True, exist_ok=True)
    distill_table(weights, target)
    write_manifest(target, ("table.npy", "scales.npy", "tokenizer.json"), DIM, STATIC_TOKENS)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 1 when a comparison falls short."""
    args = _arguments().parse_args(argv)
    from skillcue_adapters.encoders.builder.weights import find_weights

    weights = find_weights()
    with tempfile.TemporaryDirectory() as scratch:
        float_model = Path(scratch) / "float.onnx"
        build_minilm(weights, args.out / "minilm", float_model)
        build_static(weights, args.out / "static")
        print(f"written to {args.out}")
        return _compared(args.out, weights, float_model, args.compare) if args.compare else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m skillcue_adapters.encoders.build_models")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="FOLDER",
        nargs="?",
        const=Path("examples/skills"),
        help="compare over the paragraphs of the Markdown files there (default examples/skills)",
    )
    return parser


def _compared(out: Path, weights: Path, float_model: Path, texts_in: Path) -> int:
    from skillcue_adapters.encoders.builder.compare import compare, read_texts, speed_ratio

    texts = read_texts(texts_in)
    tokenizer = weights / "tokenizer.json"
    exact = OnnxEncoder(ModelFolder("float", float_model, tokenizer, max_tokens=MINILM_TOKENS))
    made = OnnxEncoder(pinned_folder(out / "minilm"))
    to_float = compare(made, exact, texts)
    to_shipped = compare(made, OnnxEncoder(pinned_folder()), texts)
    static = compare(StaticEncoder(out / "static"), StaticEncoder(), texts)
    speed = speed_ratio(made, exact, texts[:100])
    print(f"minilm against the float model: {to_float}; {speed:.2f} times as fast")
    print(f"minilm against the shipped one: {to_shipped}")
    print(f"static against the shipped one: {static}")
    kept = (
        to_float.mean >= LEAST_MEAN
        and to_float.least >= LEAST
        and to_float.overlap >= LEAST_OVERLAP
        and speed >= LEAST_SPEED
        and min(to_shipped.least, static.least) >= LEAST
    )
    print("good enough" if kept else "NOT good enough")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
