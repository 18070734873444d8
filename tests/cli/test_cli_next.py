"""``skillcue next`` on events that were really stored."""

from __future__ import annotations

import random
import time

import pytest
from support.next_histories import Chain, Writer

from skillcue.cli import EXIT_NOTHING, EXIT_OK, EXIT_USAGE

CHAINS = (
    Chain("good", "after-good", 0.95, 0.5, others=("x",)),
    Chain("searched", "after-searched", 0.9, 0.95, others=("x",)),
    Chain("ending", "after-ending", 1.0, 0.2, ends=0.8),
)
HIDDEN = Chain("leads-to-hidden", "hidden", 1.0, 0.2, ends=0.0)


@pytest.fixture
def library(tmp_path):
    lines = {"good": "requires: x\n", "hidden": "disable-model-invocation: true\n"}
    names = [name for chain in (*CHAINS, HIDDEN) for name in (chain.first, chain.then)]
    for name in (*names, "x"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        header = f"---\nname: {name}\ndescription: does {name}\n{lines.get(name, '')}---\n"
        folder.joinpath("SKILL.md").write_text(f"{header}Body\n", "utf-8")
    return tmp_path / "skills"


@pytest.fixture
def events(tmp_path):
    writer, rng = Writer(time.time() - 300_000.0), random.Random(3)
    for number in range(100):
        for chain in (*CHAINS, HIDDEN):
            writer.conversation(f"{chain.first}{number}", chain, rng)
    writer.load("gone", "good")
    writer.load("gone", "gone")
    writer.pause(4_000.0)
    writer.load("later", "x")
    writer.write(tmp_path / "events.db")
    return tmp_path / "events.db"


@pytest.fixture
def shown(cli, library, events):
    def run(*arguments):
        return cli("next", *arguments, "--events", events, "--skills", library)

    return run


def by_skill(document):
    likeliest = {}
    for row in document["learned"]:
        likeliest.setdefault(row["after"].partition("@")[0], row)
    return likeliest


def test_what_would_be_suggested_and_what_not_and_why(shown):
    done = shown("--json")
    assert done.code == EXIT_OK
    rows = by_skill(done.json)
    good = rows["good"]
    assert good["suggested"] and good["then"] == "after-good@after-good"
    assert good["q"] > good["p"] and 0 < good["margin"] < good["q"] - good["p"]
    assert good["q_low"] < good["q"] < good["q_high"]
    assert good["reason"].startswith(f"q {good['q']:.2f}".replace("0.", "."))
    searched = rows["searched"]
    assert not searched["suggested"]
    expected = f"q {searched['q']:.2f} does not exceed p {searched['p']:.2f}"
    assert searched["reason"] == expected.replace("0.", ".")
    assert rows["ending"]["reason"].endswith("of all loads; 0.5 needed")
    assert rows["leads-to-hidden"]["why"] == "better"
    assert rows["leads-to-hidden"]["reason"] == "push must not offer it"
    assert not rows["leads-to-hidden"]["suggested"]
    assert "gone@gone" in done.json["unknown"]
    assert done.json["relations"] == [{"skill": "good@good", "says": "Requires", "target": "x@x"}]
    assert f"has not: {len(done.json['unknown'])}." in done.err


def test_one_skill(shown):
    done = shown("good", "--json")
    assert {row["after"] for row in done.json["learned"]} == {"good@good"}
    assert len(done.json["relations"]) == 1
    assert shown("x", "--json").json["relations"] == []


def test_for_people(shown):
    done = shown()
    assert done.code == EXIT_OK
    first = done.out.splitlines()[0]
    assert first.startswith("Learned: 1 of ")
    assert "What skill files say" in done.out and "after-good" in done.out
    assert "Why, or why not" not in done.out
    assert "and " in shown("--top", "1").out
    one = shown("good").out
    assert "after-good: q ." in one.split("Why, or why not")[1]


def test_settings_are_those_of_next_settings(shown):
    strict = by_skill(shown("--min-support", "500", "--json").json)["good"]
    assert (strict["suggested"], strict["why"]) == (False, "too-few")
    lenient = by_skill(shown("--least-share", "0.1", "--json").json)["ending"]
    assert lenient["suggested"]
    rows = shown("good", "--limit", "1", "--json").json["learned"]
    assert len(rows) == 1
    assert shown("--confidence", "2").code == EXIT_USAGE


def test_what_is_not_there(shown, cli, library, tmp_path):
    assert shown("nobody").code == EXIT_NOTHING
    assert shown("--top", "0").code == EXIT_USAGE
    missing = cli("next", "--events", tmp_path / "no.db", "--skills", library)
    assert (missing.code, "no such file" in missing.err) == (EXIT_USAGE, True)
    (tmp_path / "text.db").write_text("no database, and long enough to be none" * 40, "utf-8")
    broken = cli("next", "--events", tmp_path / "text.db", "--skills", library)
    assert (broken.code, "cannot be read" in broken.err) == (EXIT_USAGE, True)


def test_help_has_examples(cli):
    done = cli("next", "--help")
    assert done.code == EXIT_OK and "skillcue next invoice-extraction --events" in done.out
