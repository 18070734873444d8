"""sha256 of model files: what a fingerprint is made of, and how a damaged file is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue_hooks.errors import ConfigurationError

__all__ = ["Manifest", "file_sha256", "read_manifest"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``manifest.json`` in a folder of shipped model files says.

    Attributes:
        folder: The folder.
        dim: Length of a vector.
        max_tokens: Tokens of a text that are read, special ones included.
        sha256: File name to digest (hex).
        size: File name to size, bytes.
    """

    folder: Path
    dim: int
    max_tokens: int
    sha256: Mapping[str, str]
    size: Mapping[str, int]

    def check(self) -> None:
        """Compare every file with its pin: the size first, since it costs nothing.

        Raises:
            ConfigurationError: A file is missing or differs.
        """
        for name, size in self.size.items():
            path = self.folder / name
            found = path.stat().st_size if path.is_file() else None
            if found is None:
                raise _damaged(path, "is missing")
            if found != size:
                raise _damaged(path, f"has {found:,} bytes instead of {size:,}")
            if file_sha256(path) != self.sha256[name]:
                raise _damaged(path, "has another sha256 than the file that was shipped")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder of shipped model files.

    Raises:
        ConfigurationError: It is missing or cannot be read.
    """
    path = folder / "manifest.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        files = record["files"].items()
        return Manifest(
            folder=folder,
            dim=record["dim"],
            max_tokens=record["max_tokens"],
            sha256={name: pin["sha256"] for name, pin in files},
            size={name: pin["bytes"] for name, pin in files},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"cannot be read: {error!r}") from error


def file_sha256(path: Path) -> str:
    """sha256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"Model file {path} {what}.", "Reinstall skillcue: pip install --force-reinstall skillcue"
    )
