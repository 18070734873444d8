"""The records: frozen, slotted, hashable, resolvable types, safe to copy and to pickle."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import typing
from pathlib import Path
from typing import Any

import pytest

import skillcue_hooks
from skillcue_hooks import contracts, language, protocols
from skillcue_hooks.contracts import (
    Advice,
    Diagnostic,
    Hit,
    Library,
    LoadedSkill,
    Query,
    Ranking,
    Rejection,
    RetrieverContext,
    Scope,
    Skill,
    SourceScan,
    Turn,
    TurnQuery,
    Usage,
)
from skillcue_hooks.testing import make_skill

SKILL = make_skill("pdf-forms", "Fill in PDF forms.", "# Steps", metadata={"licence": "MIT"})
HIT = Hit(SKILL, 2.5, 1, {"bm25": 2.5})
TURN = Turn("fill in this form", message_id="m1", visible_skills=frozenset({"a@a"}))


def allow_all(_skill: Skill) -> bool:
    return True


RECORDS: list[Any] = [
    SKILL,
    Scope("everyone", allow_all),
    Query("pdf", k=3, filters=(("tag", "office"),), scope=Scope("everyone", allow_all)),
    HIT,
    Ranking((HIT,), "bm25", total=1),
    TURN,
    TurnQuery("fill in this form", "a visa"),
    Rejection(HIT, "already visible"),
    Advice("offer", (HIT,), "text", 12, turn=TURN, rejected=(Rejection(HIT, "weak"),)),
    LoadedSkill(SKILL, "# Steps", Path("/skills/pdf-forms"), ("form.pdf",), 7, 7),
    Diagnostic("name-missing", "warning", Path("SKILL.md"), None, "No name.", "Write one."),
    SourceScan((SKILL,), (), "f"),
    Library("g", (SKILL,)),
    RetrieverContext("bm25", {"k1": 1.2}, None, len),
    Usage(1, 10, 5, 0.25),
]


def record_types() -> set[type]:
    return {item for item in vars(contracts).values() if dataclasses.is_dataclass(item)}


def test_every_record_has_an_example_here() -> None:
    assert {type(record) for record in RECORDS} == record_types()


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
class TestRecord:
    def test_it_is_frozen_and_has_no_room_for_more(self, record: Any) -> None:
        name = dataclasses.fields(record)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, name, None)
        assert not hasattr(record, "__dict__")

    def test_it_survives_copying_and_pickling(self, record: Any) -> None:
        for twin in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
            assert twin is not record
            assert twin == record

    def test_it_is_hashable(self, record: Any) -> None:
        if isinstance(record, RetrieverContext):
            with pytest.raises(TypeError, match="unhashable"):
                hash(record)
            return
        assert {record: "found"}[copy.deepcopy(record)] == "found"

    def test_its_types_resolve(self, record: Any) -> None:
        names = {field.name for field in dataclasses.fields(record)}
        assert set(typing.get_type_hints(type(record))) == names

    def test_its_attributes_are_documented(self, record: Any) -> None:
        names = [field.name for field in dataclasses.fields(record)]
        doc = type(record).__doc__ or ""
        if isinstance(record, Rejection):
            return  # one sentence says what both are
        documented = re.findall(r"^        (\w+): ", doc, re.MULTILINE)
        assert documented == names

    def test_mutable_defaults_are_not_shared(self, record: Any) -> None:
        for field in dataclasses.fields(record):
            if field.default is not dataclasses.MISSING:
                hash(field.default)


def test_skills_that_differ_only_in_metadata_are_not_equal() -> None:
    other = dataclasses.replace(SKILL, metadata={"licence": "Apache-2.0"})
    assert other != SKILL
    assert len({SKILL, other}) == 2


def test_defaults_of_a_query() -> None:
    query = Query("pdf")
    assert (query.k, query.offset, query.context, query.filters, query.scope) == (
        5,
        0,
        "",
        (),
        None,
    )


@pytest.mark.parametrize("name", protocols.__all__)
def test_types_of_the_roles_resolve(name: str) -> None:
    role = getattr(protocols, name)
    members = [m for m in vars(role) if m == "__call__" or not m.startswith("_")]
    assert members
    for member in members:
        item = vars(role)[member]
        if isinstance(item, property):
            item = item.fget
        assert "return" in typing.get_type_hints(item)


@pytest.mark.parametrize("name", sorted(set(protocols.__all__) - {"RetrieverFactory"}))
def test_roles_are_checked_at_run_time(name: str) -> None:
    assert not isinstance(object(), getattr(protocols, name))


def test_the_package_offers_all_records_and_roles() -> None:
    offered = {*skillcue_hooks.__all__, "Decision", "Severity", "Trust"}
    words = {*contracts.__all__, *language.__all__, *protocols.__all__}
    assert words | {"hookimpl", "hookspec"} == offered
