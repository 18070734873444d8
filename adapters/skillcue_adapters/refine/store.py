"""Where refinements live: in memory, and in the folder ``refined`` of the cache folder.

``skills/<hash>/<name>/SKILL.md`` holds a refined skill, ``tasks/<key>.json`` what was composed for a task
and the hashes of all skills that were read for it. A file of a skill is never written twice; its
name says what is in it. ``names`` finds skills by name (`skillcue_adapters.refine.names`), and what
was used longest ago is removed (`skillcue_adapters.refine.pruning`).
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from skillcue_adapters.locks import ForkSafeLock, next_process
from skillcue_adapters.refine.composed import ID_PREFIX
from skillcue_adapters.refine.names import named_ids, note_name
from skillcue_adapters.refine.pruning import prune, used
from skillcue_adapters.refine.skill_file import skill_from_text, skill_text
from skillcue_adapters.whole_files import write_whole
from skillcue_hooks.contracts import Skill
from skillcue_hooks.language import Usage

__all__ = ["RefinedStore", "Refinement", "Step", "stored_ids", "stored_skill"]

FOLDER = "refined"
SCHEMA = 2
KEPT = 256
"""Refinements, failures and skills that are kept in memory, the oldest dropped first."""
FILE_BYTES = 1_000_000
"""Longest file that is read, bytes."""
TOUCH_S = 86_400.0
"""A refinement that is used from memory is marked as used so often, seconds."""

_HASH = re.compile(r"[0-9a-f]{16}")

log = logging.getLogger("skillcue.refine")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the sub-agent did.

    Attributes:
        command: Name of the command, or ``finish``.
        argument: What was searched or read, as the model wrote it.
        result: What came of it, on one line.
    """

    command: str
    argument: str
    result: str


@dataclass(frozen=True, slots=True)
class Refinement:
    """What came of one task.

    Attributes:
        skills: The refined skills, best first; empty where it failed.
        read: Content hash of every skill that was read, by id.
        found: Ids of the skills that its searches showed.
        steps: What the sub-agent did.
        cost: What its model took.
        failure: Why there are no skills, else None.
        lasting: It may be stored: every search was answered as well as its mode can.
        cached: It was not made for this call.
    """

    skills: tuple[Skill, ...]
    read: Mapping[str, str]
    found: frozenset[str]
    steps: tuple[Step, ...]
    cost: Usage
    failure: str | None = None
    lasting: bool = True
    cached: bool = False


class RefinedStore:
    """Refinements by key and refined skills by id. Safe to share between threads.

    Args:
        cache_dir: The user's cache folder; None keeps everything in memory.
    """

    def __init__(self, cache_dir: Path | None) -> None:
        self._folder = None if cache_dir is None else cache_dir / FOLDER
        self._lock = ForkSafeLock()
        self._known: OrderedDict[str, Refinement] = OrderedDict()
        self._failed: OrderedDict[str, tuple[float, Refinement]] = OrderedDict()
        self._marked: OrderedDict[str, float] = OrderedDict()
        self._working: WeakValueDictionary[str, ForkSafeLock] = WeakValueDictionary()

    def get(self, key: str) -> Refinement | None:
        """What was composed under `key`, None where nothing is known."""
        with self._lock:
            found = self._known.get(key)
        if found is None:
            return self.stored(key)
        self._mark(key)
        return found

    def stored(self, key: str) -> Refinement | None:
        """What the folder has under `key`, which another process may have put there."""
        found = None if self._folder is None else self._read(key)
        if found is not None:
            self._remember(key, found)
        return found

    def put(self, key: str, made: Refinement, policy: str) -> Refinement:
        """Keep `made`; on disk only if it is lasting. A folder that cannot be written is logged.

        Args:
            key: Of the task.
            made: What was composed.
            policy: The `policy_tag` it was composed under.

        Returns:
            `made`, its skills with the paths that they have now.
        """
        if self._folder is not None and made.lasting:
            try:
                made = self._written(key, made, policy)
                prune(self._folder)
            except (OSError, ValueError) as error:  # an id may hold what no file can
                log.warning("a refinement cannot be stored in %s: %s", self._folder, error)
        self._remember(key, made)
        return made

    def failure(self, key: str, now: float, retry_s: float) -> Refinement | None:
        """The failure of the last `retry_s` seconds."""
        with self._lock:
            at, failed = self._failed.get(key, (0.0, None))
        return failed if failed is not None and now - at < retry_s else None

    def failed(self, key: str, now: float, failed: Refinement) -> None:
        """Keep in mind that this task failed at the time `now`; never on disk."""
        with self._lock:
            self._failed[key] = (now, failed)
            _trim(self._failed)

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """One thread of this process at a time for each key."""
        with self._lock:
            lock = self._working.setdefault(key, ForkSafeLock())
        with lock:
            yield

    @contextmanager
    def alone_on_disk(self, key: str, seconds: float) -> Iterator[None]:
        """One process at a time for each key of one folder.

        Args:
            key: Of the task.
            seconds: Longest wait; after that both go on.
        """
        with ExitStack() as stack:
            if self._folder is not None:
                stack.enter_context(next_process(self._folder / "working" / key, seconds))
            yield

    def _remember(self, key: str, made: Refinement) -> None:
        with self._lock:
            self._known[key] = made
            self._known.move_to_end(key)
            self._failed.pop(key, None)
            _trim(self._known)

    def _mark(self, key: str) -> None:
        """A process that answers from memory for weeks uses the file all the same."""
        now = time.monotonic()
        with self._lock:
            due = now - self._marked.get(key, -TOUCH_S) >= TOUCH_S
            if due:
                self._marked[key] = now
                _trim(self._marked)
        if due and self._folder is not None:
            used(self._task_path(key))

    def _task_path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / "tasks" / f"{key}.json"

    def _written(self, key: str, made: Refinement, policy: str) -> Refinement:
        assert self._folder is not None
        skills = []
        for skill in made.skills:
            path = _skill_folder(self._folder, skill.id) / skill.name / "SKILL.md"
            if not used(path):  # before the task names it: what is used is not pruned
                write_whole(path, skill_text(skill))
            note_name(self._folder, skill, policy)
            skills.append(replace(skill, path=path))
        made = replace(made, skills=tuple(skills))
        write_whole(self._task_path(key), _encoded(made))
        return made

    def _read(self, key: str) -> Refinement | None:
        assert self._folder is not None
        path = self._task_path(key)
        used(path)  # before it is read, so that it is not pruned in between
        text = _read_text(path)
        return None if text is None else _decoded(text, self._folder)


def stored_skill(cache_dir: Path, skill_id: str) -> Skill | None:
    """The refined skill that a store in `cache_dir` wrote, without trust; None where it has none."""
    return _stored(cache_dir / FOLDER, skill_id)


def stored_ids(cache_dir: Path, name: str, policy: str) -> tuple[str, ...]:
    """Ids of the skills in `cache_dir` that may be called `name`; see `named_ids`."""
    return tuple(named_ids(cache_dir / FOLDER, name, policy))


def _stored(folder: Path, skill_id: str) -> Skill | None:
    if not _HASH.fullmatch(skill_id.removeprefix(ID_PREFIX)):
        return None  # else an id could name any file
    for path in sorted(_skill_folder(folder, skill_id).glob("*/SKILL.md")):
        used(path)
        text = _read_text(path)
        skill = None if text is None else skill_from_text(text, skill_id, path)
        if skill is not None:
            return skill
    return None


def _skill_folder(folder: Path, skill_id: str) -> Path:
    return folder / "skills" / skill_id.removeprefix(ID_PREFIX)


def _read_text(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES + 1)
        return data.decode("utf-8") if len(data) <= FILE_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None


def _encoded(made: Refinement) -> str:
    cost = made.cost
    record = {
        "schema": SCHEMA,
        "skills": [skill.id for skill in made.skills],
        "read": dict(made.read),
        "found": sorted(made.found),
        "steps": [[step.command, step.argument, step.result] for step in made.steps],
        "cost": [cost.calls, cost.input_tokens, cost.output_tokens, cost.money, cost.estimated],
    }
    return json.dumps(record, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _decoded(text: str, folder: Path) -> Refinement | None:
    """What was encoded; None for anything else, and where a skill is gone or was changed."""
    try:
        record = json.loads(text)
        if record["schema"] != SCHEMA:
            return None
        skills = [_stored(folder, skill_id) for skill_id in record["skills"]]
        if not skills or None in skills:
            return None
        return Refinement(
            skills=tuple(skill for skill in skills if skill is not None),
            read={str(key): str(value) for key, value in record["read"].items()},
            found=frozenset(map(str, record["found"])),
            steps=tuple(Step(*map(str, step)) for step in record["steps"]),
            cost=Usage(*record["cost"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _trim(table: OrderedDict[str, Any]) -> None:
    while len(table) > KEPT:
        table.popitem(last=False)
