"""A library, and a history in which extracting is followed by reconciling."""

from __future__ import annotations

import random
import time

import pytest
from support.next_histories import Chain, Writer

from skillcue import SkillCue
from skillcue.successors import NextSettings

CHAIN = Chain("extract", "reconcile", q=0.95, p=0.5, others=("report",))


@pytest.fixture
def write(tmp_path):
    """Writes skills into folders: name to front-matter lines."""

    def build(skills, folder="skills"):
        for name, lines in skills.items():
            place = tmp_path / folder / name
            place.mkdir(parents=True, exist_ok=True)
            header = f"---\nname: {name}\ndescription: does {name} <things>\n{lines}---\n"
            place.joinpath("SKILL.md").write_text(f"{header}Body of {name}\n", "utf-8")
        return tmp_path / folder

    return build


@pytest.fixture
def skills(write):
    return write({name: "" for name in ("extract", "reconcile", "report", "other", "setup")})


@pytest.fixture
def events(tmp_path):
    """A store with 60 conversations of `CHAIN`."""
    # Recent, since a store that is written to lets go what is old.
    writer, rng = Writer(time.time() - 20_000.0), random.Random(0)
    for number in range(60):
        writer.conversation(f"c{number}", CHAIN, rng)
    writer.write(tmp_path / "events.db")
    return tmp_path / "events.db"


@pytest.fixture
def opened(events):
    """Opens a library that has learned from `events`."""
    cues = []

    def build(sources, **options):
        settings = options.pop("next_skills", NextSettings(control=0))
        options = {"mode": "bm25", **options}
        cue = SkillCue(sources, events=events, next_skills=settings, **options)
        cues.append(cue)
        cue.wait_ready()
        return cue

    yield build
    for cue in cues:
        cue.close()
