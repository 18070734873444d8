"""Rows of a database to skill folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from skillcue.library.limits import ReadLimits
from skillcue.library.reader import Origin, read_skill
from skillcue.remote.failures import RefusedError
from skillcue.remote.limits import FetchLimits
from skillcue.remote.paths import PathRefused, file_key, folder_name, inner_path
from skillcue.remote.tree import TreeWriter

__all__ = ["RowWriter"]

_NEEDED = ("name", "description", "body")


class _RowError(ValueError):
    """A row that cannot be a skill."""


class RowWriter:
    """Writes one folder for each row and hashes what it writes.

    Args:
        tree: Takes the files.
        columns: Names of the columns, lower case.
        limits: Bounds.

    Raises:
        RefusedError: The columns hold no skills.
    """

    def __init__(self, tree: TreeWriter, columns: Sequence[str], limits: FetchLimits) -> None:
        if "text" not in columns and not set(_NEEDED) <= set(columns):
            raise RefusedError(
                f"It has the columns {', '.join(columns) or 'none'}.",
                "Select name, description and body, or whole SKILL.md texts as text.",
            )
        self._tree = tree
        self._columns = columns
        self._limits = limits
        self._hash = hashlib.sha256()
        self._folders: set[str] = set()
        self._rows = 0

    @property
    def digest(self) -> str:
        """Hash of all that was written so far, in order (hex)."""
        return self._hash.hexdigest()

    def add(self, row: Sequence[Any]) -> None:
        """Write one row; one that cannot be a skill is left out with a note.

        Raises:
            RefusedError: There are too many rows or bytes.
        """
        self._rows += 1
        if self._rows > self._limits.files:
            raise RefusedError(
                f"It has more than {self._limits.files} rows (limit files).",
                "Select fewer, or raise FetchLimits(files=...).",
            )
        values = dict(zip(self._columns, row, strict=False))
        try:
            text = _skill_text(values)
            files = _files(values.get("files"), self._limits)
            if len(text) > self._limits.file_bytes:
                raise _RowError(f"It has {len(text)} bytes (limit file_bytes).")
            folder = self._free_folder(values, text)
        except _RowError as error:
            reason = f"{error}"
            self._hash.update(f"left out {self._rows} {reason}\n".encode())
            self._tree.leave_out(f"row {self._rows}", reason)
            return
        self._write(folder, "SKILL.md", text)
        for name, content in files.items():
            self._write(folder, name, content)

    def _write(self, folder: str, name: str, content: bytes) -> None:
        path = self._tree.add(f"{folder}/{name}", [content])
        self._hash.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())

    def _free_folder(self, values: Mapping[str, Any], text: bytes) -> str:
        """A folder named like the skill; rows of one name get a number, in their order."""
        name = values.get("name")
        if not isinstance(name, str) or not name.strip():
            result = read_skill(text, Origin(Path("SKILL.md")), ReadLimits())
            name = result.skill.name if result.skill else ""
        wanted = folder_name(name, "row")
        folder, number = wanted, 1
        while file_key(folder) in self._folders:
            number += 1
            folder = f"{wanted}-{number}"
        self._folders.add(file_key(folder))
        return folder


def _skill_text(values: Mapping[str, Any]) -> bytes:
    """The SKILL.md text of a row."""
    if values.get("text") is not None:
        return _bytes("text", values["text"])
    for column in _NEEDED:
        if column not in values or values[column] is None:
            raise _RowError(f"It has no {column}.")
    head = {
        "name": _bytes("name", values["name"]).decode("utf-8", "replace"),
        "description": _bytes("description", values["description"]).decode("utf-8", "replace"),
    }
    for key, value in _object("metadata", values.get("metadata")).items():
        head.setdefault(key, value)
    try:
        header = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000)
    except (yaml.YAMLError, RecursionError):
        raise _RowError("Its metadata holds what front matter cannot hold.") from None
    return f"---\n{header}---\n\n".encode("utf-8", "replace") + _bytes("body", values["body"])


def _files(value: Any, limits: FetchLimits) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    taken = {file_key("SKILL.md")}
    for name, content in _object("files", value).items():
        try:
            path = inner_path(name, limits.path_chars // 2)
        except PathRefused as error:
            raise _RowError(f"Its files hold {error}.") from None
        if file_key(path) in taken:
            raise _RowError(f"Its files hold {path!r} twice.")
        taken.add(file_key(path))
        files[path] = _bytes(f"file {path}", content)
        if len(files[path]) > limits.file_bytes:
            raise _RowError(f"File {path!r} has {len(files[path])} bytes (limit file_bytes).")
    for path in files:
        parts = path.split("/")
        for count in range(1, len(parts)):
            if file_key("/".join(parts[:count])) in taken:
                raise _RowError(f"Its files hold {path!r} below a file.")
    return files


def _object(column: str, value: Any) -> Mapping[str, Any]:
    """A JSON object: as text, or as a mapping where the driver reads JSON itself."""
    if value is None or value == "":
        return {}
    if isinstance(value, bytes | bytearray | memoryview):
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _RowError(f"Its {column} is no JSON.") from None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _RowError(f"Its {column} is no JSON object.")
    return value


def _bytes(column: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _RowError(f"Its {column} is a {type(value).__name__}, not text.")
