"""Files of a dataset, plain or gzip: lines of JSON, judgments. Mistakes name file and line."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from skillcue_hooks.errors import ConfigurationError

__all__ = ["MOST_GRADE", "Judgment", "Record", "read_judgments", "read_records"]

MOST_GRADE = 100
"""Largest grade: trec_eval counts each of them in an array."""

_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_ENCODING = "utf-8-sig"  # spreadsheets put a mark in front of what they export


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a file.

    Attributes:
        values: The object.
        path: The file.
        line: 1-based.
    """

    values: Mapping[str, Any]
    path: Path
    line: int

    def text(self, key: str, default: str | None = None) -> str:
        """The text under `key`; `default` where it is missing.

        Raises:
            ConfigurationError: It is no text, or missing and there is no default.
        """
        value = self.values.get(key, default)
        if isinstance(value, str):
            return value
        if key not in self.values:
            known = ", ".join(sorted(self.values)) or "none"
            raise self.error(f"there is no {key!r}.", f"The line has: {known}.")
        raise self.error(f"{key!r} is a {type(value).__name__}.", "It must be a text.")

    def name(self, key: str) -> str:
        """The text under `key`, which must not be empty; raises as `text` does."""
        value = self.text(key)
        if not value.strip():
            raise self.error(f"{key!r} is empty.", "Every line needs one of its own.")
        return value

    def error(self, message: str, cure: str) -> ConfigurationError:
        """An error that names file and line."""
        return ConfigurationError(f"{self.path}:{self.line}: {message}", cure)


@dataclass(frozen=True, slots=True)
class Judgment:
    """One line of a qrels file: how well a skill answers a query.

    Attributes:
        query: Id of the query.
        skill: Id of the skill.
        grade: 0 or less when it does not, else 1 to `MOST_GRADE`.
        path: The file.
        line: 1-based.
    """

    query: str
    skill: str
    grade: int
    path: Path
    line: int

    def error(self, message: str, cure: str) -> ConfigurationError:
        """An error that names file and line."""
        return ConfigurationError(f"{self.path}:{self.line}: {message}", cure)


def read_records(path: Path) -> Iterator[Record]:
    """The objects of a file with one JSON object a line; empty lines are skipped.

    Raises:
        ConfigurationError: The file cannot be read, or a line holds something else.
    """
    for number, line in _lines(path):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(
                f"{path}:{number}: this is no JSON: {error}.", "Write one JSON object a line."
            ) from error
        if not isinstance(values, dict):
            raise ConfigurationError(
                f"{path}:{number}: this is a {type(values).__name__}.",
                "Write one JSON object a line.",
            )
        yield Record(values, path, number)


def read_judgments(path: Path) -> list[Judgment]:
    """The lines of a qrels file: query id, skill id and grade, separated by tabs.

    A first line whose grade is no number is the heading.

    Raises:
        ConfigurationError: The file cannot be read, a line is malformed, a pair comes twice.
    """
    found: dict[tuple[str, str], Judgment] = {}
    for number, line in _lines(path):
        cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
        if number == 1 and len(cells) == 3 and not _is_number(cells[2]):
            continue
        made = _judgment(cells, path, number)
        first = found.setdefault((made.query, made.skill), made)
        if first is not made:
            raise made.error(
                f"{made.query!r} and {made.skill!r} are judged on line {first.line} already.",
                "Give each pair once.",
            )
    return list(found.values())


def _judgment(cells: list[str], path: Path, line: int) -> Judgment:
    if len(cells) != 3 or not all(cells):
        raise ConfigurationError(
            f"{path}:{line}: there are {sum(map(bool, cells))} values.",
            "Write query id, skill id and grade, separated by tabs.",
        )
    query, skill, grade = cells
    if not _GRADE.fullmatch(grade) or int(grade) > MOST_GRADE:
        raise ConfigurationError(
            f"{path}:{line}: the grade is {grade[:20]!r}.",
            f"Write a whole number up to {MOST_GRADE}; 0 is irrelevant.",
        )
    return Judgment(query, skill, int(grade), path, line)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not empty."""
    number = 0
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, start=1):  # named in errors
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}:{number + 1}: this is no UTF-8 text, here or soon after ({error.reason}).",
            "Save the file as UTF-8.",
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ConfigurationError(
            f"{path}:{number + 1}: the gzip file is damaged: {error}.", "Get it again."
        ) from error
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(
            f"{path} cannot be read: {reason}.", "Is the path right?"
        ) from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding=_ENCODING, newline="\n"))
    return path.open(encoding=_ENCODING, newline="\n")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
