"""A library in an index answers as the same library in memory does, byte for byte."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import WALKS, WatchedIndex, over, put

from skillcue import PushSettings, SkillCue
from skillcue.indexed import Indexed, publish
from skillcue_hooks import Ranking

TEXTS = (
    "Fill in the attached pdf form with the data of our customers",
    "find the commit that broke the build",
    "thanks a lot!",
    "Wie kündige ich meinen Vertrag?",
    "use the git-bisect skill",
    "which planet has the shortest year?",
)


@pytest.fixture(scope="module")
def index(example_skills):
    filled = WatchedIndex()
    publish(example_skills, filled)
    return filled


@pytest.fixture(scope="module", params=["bm25", "skillsight"])
def cues(request, index, example_skills):
    with (
        SkillCue(example_skills, mode=request.param, wait=True) as in_memory,
        SkillCue(Indexed(index), mode=request.param, wait=True) as in_index,
    ):
        yield in_memory, in_index


def plain(ranking: Ranking) -> list[tuple[str, float]]:
    return [(hit.skill.id, pytest.approx(hit.score, abs=1e-6)) for hit in ranking.hits]


@pytest.mark.parametrize("text", TEXTS)
def test_lookup_and_advice(cues, index, text):
    in_memory, in_index = cues
    assert [(h.skill.id, h.score) for h in in_index.lookup(text).hits] == plain(
        in_memory.lookup(text)
    )
    index.calls.clear()
    messages = [{"role": "user", "content": text}]
    expected, advice = in_memory.advise(messages), in_index.advise(messages)
    assert (advice.decision, advice.text, advice.confidence) == (
        expected.decision,
        expected.text,
        expected.confidence,
    )
    assert not any(index.calls[name] for name in WALKS)


def test_what_the_tools_say(cues):
    in_memory, in_index = (cue.tools() for cue in cues)
    for call in (
        lambda tools: tools.lookup("fill in a pdf form").text,
        lambda tools: tools.load("git-bisect", page=9).text,
        lambda tools: tools.load("pdf-form-filling", "scripts/fill").text,
        lambda tools: tools.load("pdf-form-filling", "../../x").text,
        lambda tools: tools.load("pdf-form-filling", "nothing").text,
        lambda tools: tools.load("no-such-skill-at-all").text.partition("Closest")[0],
    ):
        assert call(in_index) == call(in_memory)
    loaded = re.sub(r"Base directory: .*\n", "", in_memory.load("pdf-form-filling").text)
    assert in_index.load("pdf-form-filling").text == loaded


def test_what_load_gives(cues):
    in_memory, in_index = cues
    expected, loaded = in_memory.load("pdf-form-filling"), in_index.load("pdf-form-filling")
    assert loaded.text == expected.text
    assert loaded.files == expected.files != ()
    assert loaded.base_dir is None
    same = ("name", "description", "body", "trust", "content_hash", "tags", "allowed_tools")
    assert [getattr(loaded.skill, name) for name in same] == [
        getattr(expected.skill, name) for name in same
    ]


def test_a_body_is_loaded_at_once(index, example_skills):
    messages = [{"role": "user", "content": "use the pdf-form-filling skill"}]
    texts = []
    for sources in (example_skills, Indexed(index)):
        cue = SkillCue(sources, mode="bm25", push=PushSettings(load_tokens=4000))
        advice = cue.advise(messages)
        assert advice.decision == "load"
        texts.append(advice.text)
    in_folder, in_index = texts
    assert 'file="..."' in in_index
    lines = [line for line in in_folder.splitlines() if not line.startswith("Base directory")]
    assert lines == [line for line in in_index.splitlines() if not line.startswith("Read a file")]


def test_a_skill_that_is_offered_in_vain_is_demoted_without_a_list_of_all(tmp_path):
    index = WatchedIndex()
    put(write_garden(tmp_path / "garden"), index)
    room = PushSettings(tokens_replayed=150)  # for the newest advice only
    cue = over(index, push=room, wait=True)
    advisor, records, said, offers = cue.advisor("skill_load"), None, [], []
    index.calls.clear()
    for turn, text in enumerate(PHRASES[:2] * 3):
        said.append({"role": "user", "content": f"{text} ({turn})", "id": f"m{turn}"})
        plan = advisor.plan(said, records=records)
        records = plan.records
        offers.append([hit.skill.name for hit in plan.advice.hits])
        said.append({"role": "assistant", "content": "Done."})
    assert offers == [["tomato-pruning"], ["compost-heap"]] * 2 + [[], []]
    told = {rejection.hit.skill.name: rejection.reason for rejection in plan.advice.rejected}
    assert told["compost-heap"] == "offered twice in this conversation and not loaded"
    assert not any(index.calls[name] for name in WALKS)


def test_rankings_are_cached_by_revision(index, tmp_path):
    cue = SkillCue(Indexed(index), mode="bm25", cache=tmp_path / "cache")
    first = cue.lookup(TEXTS[0])
    index.calls.clear()
    again = cue.lookup(TEXTS[0])
    assert again.cached
    assert index.calls["candidates"] == 0
    hits = [replace(h, skill=replace(h.skill, body="")) for h in again.hits]
    assert hits == [replace(h, skill=replace(h.skill, body="")) for h in first.hits]
