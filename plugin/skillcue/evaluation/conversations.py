"""Conversations in which every user turn is labelled: does it need a skill, and which one.

::

    {"_id": "c1", "turns": [
        {"role": "user", "text": "...", "label": {"need": true, "gold": ["skill"], "also_ok": [],
                                                  "already_given": false, "kind": "new_task"}},
        {"role": "assistant", "text": "..."}, ...]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillcue.evaluation.datasets import Pool, closest_cure
from skillcue.evaluation.files import Record, read_records
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

__all__ = [
    "Label",
    "Labelled",
    "LabelledConversation",
    "SpokenTurn",
    "conversation_files",
    "load_labelled",
    "read_conversation",
    "skill_ids",
]

_ENDINGS = (".jsonl", ".jsonl.gz")
_ROLES = ("assistant", "system", "tool", "user")
_FORM = (
    'The form is {"_id": "...", "turns": [{"role": "user", "text": "...", "label": {"need": true, '
    '"gold": ["skill"], "kind": "new_task"}}, ...]}.'
)


@dataclass(frozen=True, slots=True)
class Label:
    """What a good advisor would do on a user turn.

    Attributes:
        need: A skill of the library would help, and has not been supplied in the conversation.
        right: Ids of the skills that may be offered; what was supplied where `given`.
        given: The skill was supplied earlier, so that nothing is needed now.
        kind: Sort of turn, such as ``follow_up``.
    """

    need: bool
    right: frozenset[str]
    given: bool
    kind: str

    @property
    def group(self) -> str:
        """``need``, ``given`` or ``none``; these are never counted together."""
        return "need" if self.need else "given" if self.given else "none"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One message of a labelled conversation; only those of the user carry a label."""

    role: str
    text: str
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    """A conversation.

    Attributes:
        id: Its id.
        turns: Its messages.
    """

    id: str
    turns: tuple[SpokenTurn, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """What push is evaluated on.

    Attributes:
        name: Of the folder or file.
        conversations: In the order of their files.
        pool: The skills.
        hash: Identity of skills and conversations as they were read (hex).
        files: Names of the files.
    """

    name: str
    conversations: tuple[LabelledConversation, ...]
    pool: Pool
    hash: str
    files: tuple[str, ...]


def conversation_files(dataset: Path) -> tuple[Path, ...]:
    """The files of `dataset` that hold conversations or requests; empty for any other dataset.

    A single file of JSON lines is one; a folder with queries is a dataset in BEIR layout.
    """
    if dataset.is_file() and dataset.name.endswith(_ENDINGS):
        return (dataset,)
    if not dataset.is_dir() or any(dataset.glob("queries*.jsonl*")):
        return ()
    return tuple(
        path
        for path in sorted(dataset.iterdir())
        if path.name.endswith(_ENDINGS) and _is_labelled(path)
    )


def load_labelled(name: str, files: Sequence[Path], pool: Pool) -> Labelled:
    """Read and check conversations and requests.

    Raises:
        ConfigurationError: A file is malformed, an id comes twice, a skill is unknown, or there is
            no labelled turn.
    """
    from skillcue.evaluation.requests import read_request  # which makes conversations, too

    found: dict[str, LabelledConversation] = {}
    for path in files:
        for record in read_records(path):
            read = read_conversation if "turns" in record.values else read_request
            made = read(record, pool)
            if made.id in found:
                raise record.error(f"the id {made.id!r} comes twice.", "Ids are unique.")
            found[made.id] = made
    if not any(turn.label for item in found.values() for turn in item.turns):
        raise ConfigurationError(f"{name} holds no labelled user turn.", _FORM)
    conversations = tuple(found.values())
    identity = fingerprint("labelled", sorted(pool.skills), [_plain(c) for c in conversations])
    return Labelled(name, conversations, pool, identity, tuple(path.name for path in files))


def read_conversation(record: Record, pool: Pool) -> LabelledConversation:
    """One line of a file.

    Raises:
        ConfigurationError: It has another form, or names a skill that there is not.
    """
    turns = record.values["turns"]
    if not isinstance(turns, list) or not turns:
        raise record.error("'turns' is no list of messages.", _FORM)
    return LabelledConversation(
        record.name("_id"), tuple(_turn(record, n, turn, pool) for n, turn in enumerate(turns, 1))
    )


def skill_ids(record: Record, names: Any, pool: Pool) -> frozenset[str]:
    """The ids of the skills that a label names.

    Raises:
        ConfigurationError: It is no list of names, or there is no such skill.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise record.error(f"the skills are {names!r}.", "Give a list of names or ids.")
    for name in names:
        if name not in pool.names:
            raise record.error(f"there is no skill {name!r}.", closest_cure(name, pool.names))
    return frozenset(pool.names[name] for name in names)


def _turn(record: Record, number: int, turn: Any, pool: Pool) -> SpokenTurn:
    if not isinstance(turn, dict) or turn.get("role") not in _ROLES:
        raise record.error(f"turn {number} has no role out of {', '.join(_ROLES)}.", _FORM)
    if not isinstance(turn.get("text"), str):
        raise record.error(f"turn {number} has no text.", _FORM)
    if turn["role"] != "user":
        return SpokenTurn(turn["role"], turn["text"])
    label = turn.get("label")
    if not isinstance(label, dict) or not isinstance(label.get("need"), bool):
        raise record.error(f"turn {number} has no label that says whether it needs a skill.", _FORM)
    return SpokenTurn("user", turn["text"], _label(record, number, label, pool))


def _label(record: Record, number: int, label: Mapping[str, Any], pool: Pool) -> Label:
    gold = skill_ids(record, label.get("gold", []), pool)
    given = label.get("already_given", False) is True
    if label["need"] and (given or not gold):
        raise record.error(
            f"turn {number} needs a skill that is given already, or none.",
            "A turn with need has a gold skill and is not already_given.",
        )
    right = gold | skill_ids(record, label.get("also_ok", []), pool)
    return Label(label["need"], right, given, str(label.get("kind") or "other"))


def _is_labelled(path: Path) -> bool:
    first = next(read_records(path), None)
    return first is not None and ("turns" in first.values or "gold" in first.values)


def _plain(conversation: LabelledConversation) -> list[Any]:
    turns = [
        [t.role, t.text, t.label and [t.label.group, sorted(t.label.right), t.label.kind]]
        for t in conversation.turns
    ]
    return [conversation.id, turns]
