"""What an exported model folder says about itself: files, pooling, length limit, prompts.

::

    folder/
      model.onnx                        or onnx/model.onnx; weights beside it: model.onnx_data, ...
      tokenizer.json
      1_Pooling/config.json             mean, cls or lasttoken; mean where there is no such file
      sentence_bert_config.json         max_seq_length
      tokenizer_config.json             model_max_length
      config.json                       max_position_embeddings
      config_sentence_transformers.json prompts

This is the layout of sentence-transformers; only the first two files must be there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue_adapters.encoders.pins import Manifest
from skillcue_adapters.encoders.prompts import Prompts, prompts_from
from skillcue_hooks.errors import ConfigurationError

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "POOLINGS",
    "ModelFolder",
    "read_json",
    "read_model_folder",
    "read_pair_folder",
]

POOLINGS = ("mean", "cls", "lasttoken")
"""Ways to make one vector of a vector for each token."""
DEFAULT_MAX_TOKENS = 512
"""Tokens of a text that are read where no file of the model says how many."""

_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")

log = logging.getLogger("skillcue.encoders")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model that is ready to be loaded.

    Attributes:
        name: What it is called in messages.
        model: The ONNX file.
        tokenizer: The ``tokenizer.json``.
        pooling: One of `POOLINGS`; of no use where the graph pools by itself, empty for a model
            that reads pairs.
        max_tokens: Tokens of a text that are read, special ones included.
        prompts: What is put in front of queries and documents.
        manifest: Pins of the files, None for a model that does not come with skillcue.
    """

    name: str
    model: Path
    tokenizer: Path
    pooling: str = "mean"
    max_tokens: int = DEFAULT_MAX_TOKENS
    prompts: Prompts = Prompts()  # noqa: RUF009 - frozen
    manifest: Manifest | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """Everything that is hashed: the model, weights kept beside it, the tokenizer."""
        beside = self.model.parent.glob(f"{self.model.name}?*")
        weights = sorted(path for path in beside if path.is_file())
        return (self.model, *weights, self.tokenizer)


def read_model_folder(path: Path) -> ModelFolder:
    """Read the layout described above.

    Args:
        path: The folder, or an ONNX file in it or in its ``onnx/`` folder.

    Raises:
        ConfigurationError: A file is missing, cannot be read, or asks for something that only
            sentence-transformers computes.
    """
    model = _model_file(path)
    root = _root_of(model)
    with _said_plainly(root):
        return _described(model, root)


def _described(model: Path, root: Path) -> ModelFolder:
    modules = read_json(root / "modules.json", [])
    others = [m["type"] for m in modules if m["type"].rsplit(".", 1)[-1] not in _KNOWN_MODULES]
    if others:
        raise _unsupported(root, f"its modules.json lists {others[0]}")
    if read_json(root / "sentence_bert_config.json", {}).get("do_lower_case"):
        raise _unsupported(root, "sentence_bert_config.json asks for lower case")
    return ModelFolder(
        name=f"onnx:{root.name}",
        model=model,
        tokenizer=root / "tokenizer.json",
        pooling=_pooling(root),
        max_tokens=_max_tokens(root),
        prompts=prompts_from(read_json(root / "config_sentence_transformers.json", {}), root.name),
    )


def read_pair_folder(path: Path) -> ModelFolder:
    """As `read_model_folder` for a model that reads two texts at once: no pooling, no prompts.

    Raises:
        ConfigurationError: A file is missing or cannot be read.
    """
    model = _model_file(path)
    root = _root_of(model)
    with _said_plainly(root):
        tokens = _max_tokens(root)
    return ModelFolder(f"onnx:{root.name}", model, root / "tokenizer.json", "", tokens)


@contextmanager
def _said_plainly(root: Path) -> Iterator[None]:
    """JSON of another shape than expected, as an error with a cure."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            f"A configuration file in {root} is not what one of a model looks like: {error!r}.",
            "Export the model anew, or mend its JSON files.",
        ) from error


def _model_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise ConfigurationError(
            f"There is no model at {path}.", "Give the folder of an exported model: onnx:/path."
        )
    for candidate in (path / "model.onnx", path / "onnx" / "model.onnx"):
        if candidate.is_file():
            return candidate
    raise ConfigurationError(
        f"{path} holds no model.onnx.",
        "Export the model into it, or name the ONNX file itself: onnx:/path/file.onnx.",
    )


def _root_of(model: Path) -> Path:
    for folder in (model.parent, model.parent.parent):
        if (folder / "tokenizer.json").is_file():
            return folder
    raise ConfigurationError(
        f"There is no tokenizer.json beside {model}.",
        "Put the tokenizer.json of the model there, or into the folder above.",
    )


def _pooling(root: Path) -> str:
    path = root / "1_Pooling" / "config.json"
    config = read_json(path, None)
    if config is None:
        log.info("%s does not exist: the vectors of the tokens are averaged", path)
        return "mean"
    if config.get("include_prompt") is False:
        raise _unsupported(root, "its pooling leaves out the prompt")
    legacy = [
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, on in config.items()
        if key.startswith("pooling_mode_") and on
    ]
    mode = config.get("pooling_mode", legacy[0] if len(legacy) == 1 else legacy)
    if mode not in POOLINGS:
        raise _unsupported(root, f"its pooling is {mode!r}")
    return str(mode)


def _max_tokens(root: Path) -> int:
    written = (
        read_json(root / "sentence_bert_config.json", {}).get("max_seq_length"),
        read_json(root / "tokenizer_config.json", {}).get("model_max_length"),
        read_json(root / "config.json", {}).get("max_position_embeddings"),
    )
    # Some tokenizers say 10^30 for "no limit".
    limits = [int(limit) for limit in written if limit and limit < 10**6]
    if any(limit < 1 for limit in limits):
        raise ValueError(f"a length limit of {min(limits)} tokens")
    return min(limits, default=DEFAULT_MAX_TOKENS)


def read_json(path: Path, default: Any) -> Any:
    """What a JSON file holds; `default` where there is no such file.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error}.", "Export the model again."
        ) from error


def _unsupported(root: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{root} cannot be run by the onnx encoder: {why}.",
        f"Use sentence-transformers: st:{root}.",
    )
