"""Which files make up a dataset: the BEIR layout, and the ways in which people vary it.

::

    DATASET/corpus.jsonl[.gz]                  what the judgments are about
            queries.jsonl[.gz]                 or queries-SPLIT.jsonl[.gz]
            qrels.tsv, qrels-SPLIT.tsv         or qrels/SPLIT.tsv
            distractors*.jsonl[.gz]            further skills; market and bodies are names as well
            dataset.json                       {"skills": ["../skills"]} instead of a corpus
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillcue_hooks.errors import ConfigurationError

__all__ = ["DatasetFiles", "FileChoice", "PoolFiles", "find_files", "find_pool"]

_JSON_LINES = (".jsonl", ".jsonl.gz")
_TABLES = (".tsv", ".tsv.gz")


@dataclass(frozen=True, slots=True)
class FileChoice:
    """What the user said about the files; None leaves it to the layout.

    Attributes:
        split: ``dev`` takes queries-dev.jsonl and qrels-dev.tsv or qrels/dev.tsv.
        queries: File of the queries.
        qrels: File of the judgments.
        distractors: File of further skills.
        skills: Folders of skills instead of a corpus file.
        corpus: File of the skills.
    """

    split: str | None = None
    queries: Path | None = None
    qrels: Path | None = None
    distractors: Path | None = None
    skills: tuple[str, ...] = ()
    corpus: Path | None = None


@dataclass(frozen=True, slots=True)
class PoolFiles:
    """Where the skills of a dataset are.

    Attributes:
        folder: The dataset.
        corpus: Skills as lines of JSON; None where `skills` holds them.
        skills: Folders of SKILL.md files; empty where there is a corpus.
        distractors: Files of further skills that there are.
    """

    folder: Path
    corpus: Path | None
    skills: tuple[str, ...]
    distractors: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class DatasetFiles(PoolFiles):
    """The files of a dataset.

    Attributes:
        queries: Queries as lines of JSON.
        qrels: Judgments.
    """

    queries: Path
    qrels: Path


def find_files(folder: Path, choice: FileChoice) -> DatasetFiles:
    """The files of the dataset in `folder`.

    Raises:
        ConfigurationError: The folder or a file that is needed does not exist, or there are
            several and nothing says which one is meant.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"The dataset {folder} is no folder.", "Name a folder.")
    pool = find_pool(folder, choice)
    return DatasetFiles(
        pool.folder,
        pool.corpus,
        pool.skills,
        pool.distractors,
        _queries(folder, choice),
        _qrels(folder, choice),
    )


def find_pool(folder: Path, choice: FileChoice) -> PoolFiles:
    """Where the skills of the dataset in `folder` are.

    Raises:
        ConfigurationError: There are none, or several corpora.
    """
    skills = choice.skills or (() if choice.corpus else _named_skills(folder))
    corpus = None if skills else _corpus(folder, choice)
    distractors = [_given(folder, choice.distractors)] if choice.distractors else None
    return PoolFiles(
        folder,
        corpus,
        skills,
        tuple(distractors if distractors is not None else _distractors(folder)),
    )


def _corpus(folder: Path, choice: FileChoice) -> Path:
    if choice.corpus:
        return _given(folder, choice.corpus)
    found = _with_endings(folder, ["corpus"], _JSON_LINES)
    if not found:
        raise ConfigurationError(
            f"There is no corpus.jsonl in {folder}.",
            "Write one, or name a folder with --skills or a file with --corpus.",
        )
    return _only(found, "corpora", "Keep one of them.")


def _queries(folder: Path, choice: FileChoice) -> Path:
    if choice.queries:
        return _given(folder, choice.queries)
    if choice.split:
        # One file with the queries of all splits is the layout of BEIR itself.
        names = [f"queries-{choice.split}", f"queries.{choice.split}", "queries"]
        found = _with_endings(folder, names, _JSON_LINES)[:1]
    else:
        found = _with_endings(folder, ["queries"], _JSON_LINES) or _matching(
            folder, "queries*", _JSON_LINES
        )
    if not found:
        raise ConfigurationError(
            f"There are no queries in {folder}" + _of_split(choice),
            "Write queries.jsonl, or name a file with --queries.",
        )
    return _only(found, "files of queries", "Choose with --split or --queries.")


def _qrels(folder: Path, choice: FileChoice) -> Path:
    if choice.qrels:
        return _given(folder, choice.qrels)
    if choice.split:
        names = [f"qrels-{choice.split}", f"qrels.{choice.split}", f"qrels/{choice.split}"]
        found = _with_endings(folder, names, _TABLES)[:1]
    else:
        found = _with_endings(folder, ["qrels"], _TABLES) or [
            *_matching(folder, "qrels*", _TABLES),
            *_matching(folder / "qrels", "*", _TABLES),
        ]
    if not found:
        raise ConfigurationError(
            f"There are no judgments in {folder}" + _of_split(choice),
            "Write qrels.tsv, or name a file with --qrels.",
        )
    return _only(found, "files of judgments", "Choose with --split or --qrels.")


def _distractors(folder: Path) -> list[Path]:
    known = _with_endings(folder, ["bodies", "market"], _JSON_LINES)
    return [*known, *_matching(folder, "distractors*", _JSON_LINES)]


def _of_split(choice: FileChoice) -> str:
    return f" of split {choice.split!r}." if choice.split else "."


def _given(folder: Path, named: Path) -> Path:
    """A file as it was named, or in the dataset where there is no such path."""
    inside = folder / named
    return inside if not named.exists() and inside.exists() else named


def _with_endings(folder: Path, names: Iterable[str], endings: tuple[str, ...]) -> list[Path]:
    paths = (folder / f"{name}{ending}" for name in names for ending in endings)
    return [path for path in paths if path.is_file()]


def _matching(folder: Path, pattern: str, endings: tuple[str, ...]) -> list[Path]:
    found = (path for ending in endings for path in folder.glob(f"{pattern}{ending}"))
    return sorted(path for path in found if path.is_file())


def _only(found: list[Path], what: str, cure: str) -> Path:
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise ConfigurationError(f"There are several {what}: {names}.", cure)
    return found[0]


def _named_skills(folder: Path) -> tuple[str, ...]:
    """What dataset.json names, relative to the dataset."""
    path = folder / "dataset.json"
    if not path.is_file():
        return ()
    try:
        values = json.loads(path.read_text("utf-8"))
        named = values["skills"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} names no skills: {type(error).__name__}: {error}.",
            'Write {"skills": ["../skills"]}.',
        ) from error
    if not isinstance(named, list) or not named or not all(isinstance(n, str) for n in named):
        raise ConfigurationError(f"{path}: 'skills' is {named!r}.", "Give a list of folders.")
    return tuple(str(folder / name) for name in named)
