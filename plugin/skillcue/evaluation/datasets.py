"""A dataset, read and checked: a pool of skills, queries, and which skills answer them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from skillcue.evaluation.files import Judgment, Record, read_judgments, read_records
from skillcue.evaluation.layout import DatasetFiles, PoolFiles
from skillcue.facade import SkillCue
from skillcue.library.source import StaticSource
from skillcue.sources import SourceSpec
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError, closest_names
from skillcue_hooks.fingerprint import fingerprint

__all__ = ["Dataset", "Pool", "Question", "Reading", "closest_cure", "load_dataset", "load_pool"]

_UNFAIR = (
    "The judged skills have bodies and the distractors have none, which makes the judged ones "
    "easier to find: --bodies none compares heads alone."
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a dataset is to be read.

    Attributes:
        field: Field of a query that is asked: ``text``, ``short``, or any other.
        context: Field of a query that is the second view; queries without it have none. Empty
            for no second view at all.
        pool: Skills altogether: those of the corpus, then distractors. None takes the corpus.
        heads: Leave all bodies out.
    """

    field: str = "text"
    context: str = "context"
    pool: int | None = None
    heads: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A query that has been judged.

    Attributes:
        id: Its id.
        text: What is asked.
        context: Second view, may be empty.
        gold: Skill id to grade, 1 or more, of the skills that answer it; not empty.
    """

    id: str
    text: str
    context: str
    gold: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is evaluated on.

    Attributes:
        name: Name of its folder.
        sources: The pool, as `SkillCue` takes it.
        skills: The pool by skill id.
        distractors: How many of them are distractors.
        questions: Judged queries in the order of their file.
        unjudged: Ids of queries for which nothing is relevant; they are in no mean.
        notes: What a reader of the scores should know about the pool.
        hash: Identity of skills, queries and judgments as they were read (hex).
        files: What was read, by role.
    """

    name: str
    sources: tuple[SourceSpec, ...]
    skills: Mapping[str, Skill]
    distractors: int
    questions: tuple[Question, ...]
    unjudged: tuple[str, ...]
    notes: tuple[str, ...]
    hash: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pool:
    """The skills that are searched.

    Attributes:
        sources: As `SkillCue` takes them.
        skills: By id.
        names: What judgments may say to the id of a skill.
        distractors: How many of the skills are distractors.
        notes: What a reader of the scores should know.
    """

    sources: tuple[SourceSpec, ...]
    skills: Mapping[str, Skill]
    names: Mapping[str, str]
    distractors: int
    notes: tuple[str, ...]


def load_dataset(files: DatasetFiles, reading: Reading) -> Dataset:
    """Read and check a dataset.

    Raises:
        ConfigurationError: A file is malformed, an id comes twice or is unknown, there is no
            judged query, or there are fewer skills than the pool should have.
        LibraryNotFoundError: A folder of skills does not exist.
    """
    judgments = read_judgments(files.qrels)
    pool = load_pool(files, reading)
    asked = _unique(read_records(files.queries))
    gold = _gold(judgments, asked, pool)
    questions = tuple(
        Question(
            name,
            record.name(reading.field),
            record.text(reading.context, "") if reading.context else "",
            gold[name],
        )
        for name, record in asked.items()
        if name in gold
    )
    if not questions:
        raise ConfigurationError(
            f"No query of {files.queries} is judged in {files.qrels}.",
            "Do both belong to the same split?",
        )
    return Dataset(
        name=files.folder.resolve().name,
        sources=pool.sources,
        skills=pool.skills,
        distractors=pool.distractors,
        questions=questions,
        unjudged=tuple(name for name in asked if name not in gold),
        notes=pool.notes,
        hash=_identity(pool.skills.values(), questions),
        files=_names(files),
    )


def load_pool(files: PoolFiles, reading: Reading) -> Pool:
    """Read the skills of a dataset.

    Raises:
        ConfigurationError: As `load_dataset`.
        LibraryNotFoundError: A folder of skills does not exist.
    """
    return _folders(files, reading) if files.skills else _corpus(files, reading)


def _corpus(files: PoolFiles, reading: Reading) -> Pool:
    assert files.corpus is not None
    records = _unique(read_records(files.corpus))
    judged = len(records)
    wanted = judged if reading.pool is None else reading.pool
    if wanted < judged:
        raise ConfigurationError(
            f"The pool of {wanted} is smaller than the corpus of {judged} skills.",
            f"Use --pool {judged} or more; smaller pools would leave answers out.",
        )
    if wanted > judged:
        _add_distractors(records, _distractor_file(files), wanted)
    skills = {name: _skill(record, reading.heads) for name, record in records.items()}
    pool = tuple(skills.values())
    source = StaticSource(files.folder.resolve().name, pool)
    notes = _about_bodies(pool[:judged], pool[judged:])
    return Pool((source,), skills, {name: name for name in skills}, wanted - judged, notes)


def _folders(files: PoolFiles, reading: Reading) -> Pool:
    with SkillCue(list(files.skills), mode="bm25", cache=False, recheck="manual") as cue:
        snapshot = cue.snapshot()
    skills = {skill.id: skill for skill in snapshot.library.skills}
    if reading.pool not in (None, len(skills)):
        raise ConfigurationError(
            f"--pool {reading.pool} needs a corpus file; {', '.join(files.skills)} holds "
            f"{len(skills)} skills.",
            "Leave --pool out, or add a further folder with --skills.",
        )
    names = {skill.id: skill.id for skill in skills.values()}
    for skill in snapshot.skills:  # in precedence order: a name means the first that has it
        if skill.id in skills:
            names.setdefault(skill.name, skill.id)
    problems = sum(item.severity == "error" for item in snapshot.diagnostics)
    notes = (f"{problems} skill files could not be read: see skillcue doctor.",) * bool(problems)
    if not reading.heads:
        return Pool(files.skills, skills, names, 0, notes)
    bare = {name: _without_body(skill) for name, skill in skills.items()}
    return Pool((StaticSource("heads", bare.values()),), bare, names, 0, notes)


def _add_distractors(records: dict[str, Record], path: Path, wanted: int) -> None:
    judged = len(records)
    for record in islice(read_records(path), wanted - judged):
        _add(records, record)
    if len(records) < wanted:
        raise ConfigurationError(
            f"The pool should have {wanted} skills; {judged} of the corpus and all of {path} "
            f"are {len(records)}.",
            f"Use --pool {len(records)} at most.",
        )


def _distractor_file(files: PoolFiles) -> Path:
    if len(files.distractors) == 1:
        return files.distractors[0]
    names = ", ".join(path.name for path in files.distractors)
    raise ConfigurationError(
        f"--pool needs distractors, and {files.folder} has "
        + (f"several files of them: {names}." if names else "no distractors*.jsonl."),
        "Name the file with --distractors.",
    )


def _skill(record: Record, heads: bool) -> Skill:
    name = record.name("_id")
    title = record.text("title", "").strip() or name
    description, body = record.text("text", ""), record.text("body", "")
    body = "" if heads else body
    # The id counts as content: equal texts stay apart, and the pool has the size that is asked for.
    content = fingerprint(name, title, description, body)
    return Skill(name, title, description, body, content_hash=content)


def _without_body(skill: Skill) -> Skill:
    content = fingerprint(skill.id, skill.name, skill.description)
    return Skill(skill.id, skill.name, skill.description, tags=skill.tags, content_hash=content)


def _about_bodies(judged: Sequence[Skill], distractors: Sequence[Skill]) -> tuple[str, ...]:
    if distractors and any(s.body for s in judged) and not any(s.body for s in distractors):
        return (_UNFAIR,)
    return ()


def _unique(records: Iterator[Record]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in records:
        _add(found, record)
    return found


def _add(records: dict[str, Record], record: Record) -> None:
    name = record.name("_id")
    first = records.setdefault(name, record)
    if first is not record:
        raise record.error(
            f"the id {name!r} stands in {first.path}:{first.line} already.", "Ids are unique."
        )


def _gold(
    judgments: Iterable[Judgment], asked: Mapping[str, Record], pool: Pool
) -> dict[str, dict[str, int]]:
    gold: dict[str, dict[str, int]] = {}
    for item in judgments:
        if item.query not in asked:
            raise item.error(f"there is no query {item.query!r}.", closest_cure(item.query, asked))
        skill = pool.names.get(item.skill)
        if skill is None:
            raise item.error(
                f"there is no skill {item.skill!r}.", closest_cure(item.skill, pool.names)
            )
        if item.grade > 0:
            gold.setdefault(item.query, {})[skill] = item.grade
    return gold


def closest_cure(name: str, known: Iterable[str]) -> str:
    """What to do about a name that is not known."""
    near = closest_names(name, known)
    return f"Closest: {', '.join(near)}." if near else "Nothing has a name like it."


def _identity(skills: Iterable[Skill], questions: Iterable[Question]) -> str:
    pool = [[s.id, s.name, s.description, fingerprint(s.body), list(s.tags)] for s in skills]
    asked: list[list[Any]] = [[q.id, q.text, q.context, dict(q.gold)] for q in questions]
    return fingerprint("dataset", sorted(pool), asked)


def _names(files: DatasetFiles) -> dict[str, str]:
    corpus = files.corpus.name if files.corpus else _folder_names(files.skills)
    return {"corpus": corpus, "queries": files.queries.name, "qrels": files.qrels.name}


def _folder_names(folders: Iterable[str]) -> str:
    """Names without the way to them, which is nobody's business in a report that is passed on."""
    return ", ".join(Path(folder).resolve().name for folder in folders)
