"""The labelled conversations and the prototype turns are clean, complete and consistent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import skillcue
from skillcue import SkillCue

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "conversations" / "labelled").glob("*.jsonl"))
TURNS = Path(skillcue.__file__).parent / "push" / "turns"

KINDS = {
    "ack",
    "chit_chat",
    "clarification",
    "explicit_skill_request",
    "follow_up",
    "general_knowledge",
    "long_paste",
    "meta_question",
    "new_task",
    "off_topic",
    "topic_switch",
}
NEVER_NEEDED = {"ack", "chit_chat", "general_knowledge", "meta_question", "off_topic"}
LABEL_FIELDS = {"need", "gold", "also_ok", "already_given", "needs_context", "kind"}

Conversation = dict[str, Any]


def read(path: Path) -> list[Conversation]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def prototypes(name: str) -> list[str]:
    lines = (TURNS / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("# ")]


def plain(text: str) -> str:
    """Case and blanks do not make a text a different one."""
    return " ".join(text.split()).casefold()


CONVERSATIONS = [conversation for path in FILES for conversation in read(path)]
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def user_turns(conversation: Conversation) -> list[dict[str, Any]]:
    return [turn for turn in conversation["turns"] if turn["role"] == "user"]


ALL_TURNS = [turn for conversation in CONVERSATIONS for turn in user_turns(conversation)]


@pytest.fixture(scope="module")
def skill_ids(example_skills: Path) -> set[str]:
    with SkillCue(example_skills, mode="bm25") as cue:
        return {skill.id for skill in cue.list()}


def test_there_are_enough_of_them_in_the_promised_shares() -> None:
    count = len(ALL_TURNS)
    needed = sum(turn["label"]["need"] for turn in ALL_TURNS)
    given = sum(turn["label"]["already_given"] for turn in ALL_TURNS)
    assert len(CONVERSATIONS) >= 90
    assert count >= 450
    assert 0.30 <= needed / count <= 0.40
    assert 0.05 <= given / count <= 0.15
    assert min(Counter(turn["label"]["kind"] for turn in ALL_TURNS)[kind] for kind in KINDS) >= 15


def test_every_skill_is_needed_somewhere(skill_ids: set[str]) -> None:
    needed = {
        skill for turn in ALL_TURNS if turn["label"]["need"] for skill in turn["label"]["gold"]
    }
    assert needed == skill_ids


def test_conversation_ids_are_unique() -> None:
    counts = Counter(conversation["_id"] for conversation in CONVERSATIONS)
    assert [name for name, count in counts.items() if count > 1] == []


@by_file
def test_a_conversation_is_well_formed(path: Path) -> None:
    for conversation in read(path):
        assert set(conversation) == {"_id", "lang", "turns"}
        roles = [turn["role"] for turn in conversation["turns"]]
        assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
        for turn in conversation["turns"]:
            assert turn["text"].strip() == turn["text"] != ""
            assert set(turn) == {"role", "text"} | ({"label"} if turn["role"] == "user" else set())


@by_file
def test_a_label_agrees_with_itself(path: Path, skill_ids: set[str]) -> None:
    for turn in (turn for conversation in read(path) for turn in user_turns(conversation)):
        label, text = turn["label"], turn["text"]
        assert set(label) == LABEL_FIELDS
        assert label["kind"] in KINDS
        assert {*label["gold"], *label["also_ok"]} <= skill_ids, text
        assert not set(label["gold"]) & set(label["also_ok"]), text
        assert not (label["need"] and label["already_given"]), text
        assert bool(label["gold"]) == (label["need"] or label["already_given"]), text
        assert label["need"] or not label["also_ok"], text
        assert not (label["need"] and label["kind"] in NEVER_NEEDED), text


@by_file
def test_a_skill_is_needed_once_and_given_only_after_that(path: Path) -> None:
    for conversation in read(path):
        supplied: set[str] = set()
        for turn in user_turns(conversation):
            label, text = turn["label"], turn["text"]
            if label["need"]:
                assert not set(label["gold"]) & supplied, text
                supplied.update(label["gold"])
            if label["already_given"]:
                assert set(label["gold"]) <= supplied, text


def test_what_needs_context_is_not_said_first() -> None:
    first = [user_turns(conversation)[0] for conversation in CONVERSATIONS]
    assert [turn["text"] for turn in first if turn["label"]["needs_context"]] == []


def test_no_user_turn_and_no_prototype_occurs_twice() -> None:
    texts = [turn["text"] for turn in ALL_TURNS]
    texts += prototypes("needs_nothing.txt") + prototypes("requests.txt")
    counts = Counter(map(plain, texts))
    assert [text for text, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(("name", "least"), [("needs_nothing.txt", 240), ("requests.txt", 160)])
def test_prototypes_are_one_turn_a_line_under_a_kind(name: str, least: int) -> None:
    lines = (TURNS / name).read_text(encoding="utf-8").splitlines()
    kinds = [line for line in lines if line.startswith("#")]
    assert lines[0] == kinds[0]
    assert len(kinds) == len(set(kinds))
    assert [line for line in lines if line != line.strip() or not line] == []
    assert len(prototypes(name)) >= least


def test_length_alone_does_not_tell_who_needs_a_skill() -> None:
    words: dict[bool, list[int]] = {True: [], False: []}
    for turn in ALL_TURNS:
        words[turn["label"]["need"]].append(len(turn["text"].split()))
    longer = sum((a > b) + 0.5 * (a == b) for a in words[True] for b in words[False])
    assert 0.35 < longer / (len(words[True]) * len(words[False])) < 0.65
