"""The key of a cached ranking covers everything that could change it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from support.ids import steady

from skillcue_adapters.caching import keys
from skillcue_adapters.caching.keys import ranking_key
from skillcue_hooks.contracts import Query, Scope, Skill


def allow(skill: Skill) -> bool:
    return True


BASE: dict[str, Any] = {
    "text": "prune roses",
    "context": "garden",
    "k": 5,
    "offset": 0,
    "filters": (("tag", "a"), ("source", "b")),
    "scope": Scope("tenant", allow),
}


def key(fingerprint: str = "f", generation: str = "g", mode: str = "m", **query: Any) -> str:
    return ranking_key(fingerprint, generation, mode, Query(**{**BASE, **query}))


FLIPS: list[dict[str, Any]] = [
    {"fingerprint": "f2"},
    {"generation": "g2"},
    {"mode": "m2"},
    {"text": "prune rose"},
    {"text": "prune roses "},
    {"context": ""},
    {"context": "prune roses", "text": "garden"},
    {"k": 6},
    {"offset": 1},
    {"filters": ()},
    {"filters": (("tag", "b"), ("source", "a"))},
    {"filters": (("tag", "a"),)},
    {"scope": Scope("other", allow)},
    {"scope": Scope("", allow)},
    {"scope": None},
]


@pytest.mark.parametrize("flip", FLIPS, ids=steady)
def test_each_part_changes_the_key(flip: dict[str, Any]) -> None:
    assert key(**flip) != key()


def test_all_flips_differ_from_each_other() -> None:
    assert len({key(**flip) for flip in FLIPS}) == len(FLIPS)


def test_the_schema_version_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(keys, "SCHEMA_VERSION", keys.SCHEMA_VERSION + 1)
    assert key() != before


def test_order_and_repeats_of_filters_do_not() -> None:
    assert key(filters=(("source", "b"), ("tag", "a"), ("source", "b"))) == key()


def test_scopes_with_one_key_share_entries() -> None:
    assert key(scope=Scope("tenant", lambda skill: True)) == key()


def test_any_process_makes_the_same_key() -> None:
    code = (
        "from skillcue_adapters.caching.keys import ranking_key\n"
        "from skillcue_hooks.contracts import Query\n"
        "print(ranking_key('f', 'g', 'm', Query('退款 \\ud800', filters=(('tag', 'a'),))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("0", "7")
    }
    assert found == {ranking_key("f", "g", "m", Query("退款 \ud800", filters=(("tag", "a"),)))}
