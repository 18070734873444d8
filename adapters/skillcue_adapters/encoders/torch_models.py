"""Models of PyTorch libraries: where they lie on disk, their identity, and life after a fork."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from skillcue_adapters.encoders.pins import file_sha256
from skillcue_hooks.errors import ConfigurationError

__all__ = ["folder_digests", "folder_on_disk", "prepare_torch"]

_CACHE_ENV = "SENTENCE_TRANSFORMERS_HOME"
_NOT_READ = {".md", ".h5", ".ot", ".msgpack"}
"""Files of a model folder that PyTorch does not read: documentation, other frameworks' weights."""
_NOT_ENTERED = {"onnx", "openvino"}

log = logging.getLogger("skillcue.encoders")


def folder_on_disk(model: str, organization: str = "") -> Path:
    """The folder of a model; asks no server.

    Args:
        model: A folder, or the id of a model in the Hugging Face cache.
        organization: Of sentence-transformers models whose id names none.

    Raises:
        ConfigurationError: There is no such folder, or it holds no model.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        folder = _cached(model, organization)
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise ConfigurationError(
            f"{folder} holds no model.", "It must have a modules.json or a config.json."
        )
    return folder


def folder_digests(folder: Path) -> dict[str, str]:
    """sha256 of every file that PyTorch reads, by path inside the folder."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in _NOT_READ and not path.name.startswith(".")
    ]
    named = {path.relative_to(folder): path for path in files}
    return {
        name.as_posix(): file_sha256(path)
        for name, path in named.items()
        if not _NOT_ENTERED & {*name.parts[:-1]}
    }


def prepare_torch(owner: int) -> None:
    """Import PyTorch, and limit it to one thread in a child that was forked after it was loaded.

    Its worker threads stayed in the parent; a child that calls for them waits for ever. DataLoader
    workers of PyTorch do the same.

    Args:
        owner: Process that made what is about to be loaded.
    """
    forked = owner != os.getpid() and "torch" in sys.modules
    import torch  # seconds, so not before it is needed

    if forked:
        torch.set_num_threads(1)
        log.info("a model is loaded in a forked process: PyTorch uses one thread here")


def _cached(model: str, organization: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    model_id = f"{organization}/{model}" if organization and "/" not in model else model
    cache = os.environ.get(_CACHE_ENV) if organization else None
    try:
        return Path(snapshot_download(model_id, cache_dir=cache, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        raise ConfigurationError(
            f"There is no model {model!r} on this machine: no such folder, and {model_id} is not "
            "in the Hugging Face cache.",
            f"skillcue downloads no models. Fetch it once: hf download {model_id}",
        ) from error
