"""A thread that is picked up by a new process on every turn sends the bytes one process sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillcue import SkillCue

SMALL_TALK = "Thanks, see you tomorrow"
TASKS = [
    "I have to fill in a PDF form for my visa application",
    "A pod in our kubernetes cluster keeps crashing, find out why",
    "Scale this bread recipe up to 40 people",
    "Help me write a press release about our new product",
    "Merge these two pdf files into one document",
    "Find the git commit that broke the build by bisecting",
    "Our flaky test fails every third run of the pipeline",
    "Match the bank payments of March to our open invoices",
    "Write the minutes of the meeting from my notes",
    "Renew the expired TLS certificate of our web server",
]


def conversation(turns: int, every: int) -> list[dict[str, Any]]:
    """`turns` user turns with long ids, a task every so often and small talk in between."""
    messages = []
    for turn in range(turns):
        text = TASKS[turn // every % len(TASKS)] if turn % every == 0 else SMALL_TALK
        identity = f"00000000-0000-4000-8000-{turn:012d}"
        messages.append({"role": "user", "content": f"{text} ({turn})", "id": identity})
        messages.append({"role": "assistant", "content": "Done."})
    return messages


@pytest.mark.parametrize("every", [1, 7, 30])
def test_a_new_process_every_turn_replays_what_one_process_replays(example_skills, every):
    messages = conversation(60, every)
    records: Any = None
    offers = 0
    with SkillCue(example_skills, recheck="manual") as cue:
        one = cue.advisor("skill_load")
        for end in range(1, len(messages), 2):
            expected = one.plan(messages[:end])
            plan = cue.advisor("skill_load").plan(messages[:end], records=records)
            assert plan.placements == expected.placements
            records = json.loads(json.dumps(plan.records))
            assert len(json.dumps(records)) <= 1000
            offers += bool(expected.advice.hits)
    assert offers >= 2


@pytest.mark.parametrize("every", [1, 7])
def test_old_advice_goes_in_jumps_so_that_the_prefix_breaks_seldom(example_skills, every):
    messages = conversation(60, every)
    breaks = 0
    with SkillCue(example_skills, recheck="manual") as cue:
        advisor = cue.advisor("skill_load")
        before: tuple[Any, ...] = ()
        for end in range(1, len(messages), 2):
            placements = advisor.plan(messages[:end]).placements
            breaks += placements[: len(before)] != before
            before = placements
    assert breaks <= 60 // every // 4
