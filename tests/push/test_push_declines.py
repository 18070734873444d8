"""Skills that a thread was offered in vain are demoted; restarts and forks agree on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import (
    FRAMEWORKS,
    PHRASES,
    Framework,
    Said,
    assistant,
    tool_results,
    user,
)
from support.policies import Policy

from skillcue import PushSettings, SkillCue
from skillcue.push.advisor import Advisor, Plan
from skillcue.push.declines import DECLINED_BYTES, DECLINED_KEY, Declines
from skillcue.push.memo import RECORD_BYTES, bounded_records, read_record
from skillcue.push.turn import LoadedMark, mark_loaded, skill_version

TOMATO, COMPOST = PHRASES[:2]
TOMATO_ID, COMPOST_ID = "tomato-pruning@tomato-pruning", "compost-heap@compost-heap"
ONE_BLOCK = PushSettings(tokens_replayed=150)
"""Room for the newest advice only, so that a skill can be offered again right away."""

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=repr)


@pytest.fixture
def cue(garden):
    with SkillCue(garden, mode="bm25", push=ONE_BLOCK, recheck="manual") as cue:
        yield cue


def about(turn: int, text: str) -> str:
    return f"{text} ({turn})"


def chat(*texts: str) -> list[Said]:
    """One user turn for each text, each with an id, answers in between."""
    said: list[Said] = []
    for turn, text in enumerate(texts):
        said += [user(about(turn, text), id=f"m{turn}"), assistant()]
    return said[:-1]


def offers(advisor: Advisor, said: list[Said], framework: Framework = FRAMEWORKS[0]) -> list[Any]:
    """The names offered on each user turn, every turn planned with the records of the last."""
    return [names(plan) for plan in plans(lambda: advisor, said, framework)]


def plans(advisor: Any, said: list[Said], framework: Framework = FRAMEWORKS[0]) -> list[Plan]:
    records: Any = None
    made = []
    for end in (i + 1 for i, one in enumerate(said) if one.role == "user"):
        plan = advisor().plan(framework.messages(said[:end]), records=records)
        records = json.loads(json.dumps(plan.records))
        made.append(plan)
    return made


def names(plan: Plan) -> list[str]:
    return [hit.skill.name for hit in plan.advice.hits]


ALTERNATING = (TOMATO, COMPOST, TOMATO, COMPOST, TOMATO, COMPOST)
EXPECTED = [["tomato-pruning"], ["compost-heap"]] * 2 + [[], []]


@every_framework
def test_a_skill_that_was_declined_twice_is_not_offered_a_third_time(cue, framework):
    advisor = cue.advisor("skill_load")
    assert offers(advisor, chat(*ALTERNATING), framework) == EXPECTED
    last = plans(lambda: advisor, chat(*ALTERNATING), framework)[-1].advice
    told = {rejection.hit.skill.name: rejection.reason for rejection in last.rejected}
    assert told["compost-heap"] == "offered twice in this conversation and not loaded"
    assert {*last.turn.demoted} == {TOMATO_ID, COMPOST_ID}


@every_framework
def test_a_new_process_every_turn_and_one_without_records_agree(cue, framework):
    said = chat(*ALTERNATING, "Thanks!", TOMATO)
    fresh = plans(lambda: cue.advisor("skill_load"), said, framework)
    one = cue.advisor("skill_load")
    kept = plans(lambda: one, said, framework)
    for end, (a, b) in enumerate(zip(fresh, kept, strict=True)):
        messages = framework.messages(said[: 2 * end + 1])
        from_nothing = cue.advisor("skill_load").plan(messages)
        assert a.placements == b.placements == from_nothing.placements
        assert a.records == b.records == from_nothing.records


def loaded(cue: SkillCue, skill_id: str, call: str = "L1") -> list[Said]:
    skill = cue.snapshot().get(skill_id)
    mark = LoadedMark(skill.id, skill_version(skill), 1, 1, None)
    return tool_results((call, f"{mark_loaded(mark)}\n{skill.body}"))


def test_a_skill_that_was_loaded_was_not_declined(cue):
    said = chat(*ALTERNATING[:3])
    said[1:1] = loaded(cue, TOMATO_ID)  # in the first turn
    cleared = [Said(s.role, "[cleared]", call=s.call) if s.call else s for s in said]
    advisor = cue.advisor("skill_load")
    records = advisor.plan(FRAMEWORKS[0].messages(said[:5]), records=None).records
    plan = advisor.plan(FRAMEWORKS[0].messages(cleared), records=records)
    assert names(plan) == ["tomato-pruning"]
    tail = [assistant(), *chat(COMPOST, TOMATO)]
    tail = [Said(s.role, s.text, id=f"t{s.id}" if s.id else "") for s in tail]
    plan = advisor.plan(FRAMEWORKS[0].messages([*cleared, *tail]), records=plan.records)
    assert names(plan) == ["tomato-pruning"]  # declined once only, in the second turn of it


def test_loading_it_later_without_advice_forgives_what_went_before(cue):
    said = chat(*ALTERNATING[:4], "Thanks!", PHRASES[3], *ALTERNATING[4:])
    thanks = next(i for i, one in enumerate(said) if one.text.startswith("Thanks"))
    said[thanks + 1 : thanks + 1] = loaded(cue, COMPOST_ID)
    made = offers(cue.advisor("skill_load"), said)
    assert made[-2:] == [[], []]  # the tomatoes are demoted, the compost stands above
    cut = [s for s in said if not s.call and not s.calls]
    records = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(said[:-2])).records
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(cut), records=records)
    assert names(plan) == ["compost-heap"]  # its text was cut away, and it is not demoted


def test_a_demoted_skill_is_offered_when_the_user_names_it(cue):
    said = chat(*ALTERNATING[:4], "use the tomato-pruning skill")
    assert offers(cue.advisor("skill_load"), said)[-1] == ["tomato-pruning"]


def test_a_demoted_skill_is_offered_at_twice_the_evidence_it_was_declined_with(cue):
    weak = "About tomato shoots on a trellis"
    for text, expected in (
        ("Something about a trellis, tomato shoots", []),
        ("Prune tomato plants, side shoots, trellis, pinching growing tips", ["tomato-pruning"]),
    ):
        said = chat(weak, COMPOST, weak, "Thanks!", COMPOST, text)
        made = offers(cue.advisor("skill_load"), said)
        assert made[0] == made[2] == ["tomato-pruning"]
        assert made[-1] == expected, text


def test_its_place_goes_to_the_next_candidate(garden):
    """A skill that is at hand still counts as the best; one that was declined does not."""
    both = f"{TOMATO} Nitrogen for a compost heap"
    push = PushSettings(k=1, tokens_replayed=150)
    with SkillCue(garden, mode="bm25", push=push) as cue:
        said = chat(TOMATO, "Slugs and snails eat my lettuce", TOMATO, "Size a greenhouse heater")
        made = offers(cue.advisor("skill_load"), [*said, assistant(), user(both, id="last")])
        alone = cue.advisor("skill_load").plan([{"role": "user", "content": both}])
    assert names(alone) == ["tomato-pruning"]
    assert made[0] == made[2] == ["tomato-pruning"]
    assert made[-1] == ["compost-heap"]


def test_declines_outlive_the_messages_they_are_about(cue):
    """Compaction took the first turns away; what is known of them stays."""
    said = chat(*ALTERNATING)
    records = plans(lambda: cue.advisor("skill_load"), said[:7])[-1].records
    summary = Said("user", "The user asked about plants.", made=True)
    kept = [summary, *said[6:9]]
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(kept), records=records)
    assert names(plan) == []
    assert TOMATO_ID in plan.advice.turn.demoted


def test_an_offer_whose_outcome_nobody_saw_is_not_a_decline(cue):
    """The turn was compacted away together with whatever was loaded in it."""
    said = chat(*ALTERNATING[:3])
    records = plans(lambda: cue.advisor("skill_load"), said)[-1].records  # offered twice
    summary = Said("user", "The user asked about plants.", made=True)
    later = [summary, assistant(), user("Thanks!", id="m9")]
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(later), records=records)
    later += [assistant(), user(TOMATO, id="m10")]
    plan = cue.advisor("skill_load").plan(FRAMEWORKS[0].messages(later), records=plan.records)
    assert names(plan) == ["tomato-pruning"]


def test_equal_messages_without_ids_and_unequal_pasts(cue):
    """Two threads that were summarised to the same words share no decision."""
    records = plans(lambda: cue.advisor("skill_load"), chat(*ALTERNATING[:4], "Thanks!"))[
        -1
    ].records
    messages = [{"role": "user", "content": TOMATO}]
    advisor = cue.advisor("skill_load")
    assert names(advisor.plan(messages)) == ["tomato-pruning"]
    declined = {DECLINED_KEY: records[DECLINED_KEY]}
    assert names(advisor.plan(messages, records=declined)) == []
    assert names(advisor.plan(messages)) == ["tomato-pruning"]


def test_without_a_load_tool_nothing_is_counted(cue):
    made = offers(cue.advisor(None), chat(*ALTERNATING))
    assert made == [["tomato-pruning"], ["compost-heap"]] * 3
    plan = cue.advisor(None).plan([{"role": "user", "content": TOMATO}])
    assert DECLINED_KEY not in plan.records


def test_a_fork_goes_on_from_its_own_records(cue):
    said = chat(*ALTERNATING)
    made = plans(lambda: cue.advisor("skill_load"), said)
    advisor = cue.advisor("skill_load")
    plans(lambda: advisor, said)  # warm: it knows how the other branch went on
    branch = [*said[:4], user(TOMATO, id="other")]  # in place of the second question
    plan = advisor.plan(FRAMEWORKS[0].messages(branch), records=made[1].records)
    assert names(plan) == ["tomato-pruning"]


def test_a_message_with_the_id_of_the_declines_is_a_turn_like_any_other(cue):
    said = [user(TOMATO, id=DECLINED_KEY), assistant(), user(COMPOST, id="m2")]
    first, second = plans(lambda: cue.advisor("skill_load"), said)
    assert read_record(first.records, DECLINED_KEY)[1] == ()
    assert second.placements[-1][0] == 2 and names(first) == ["tomato-pruning"]


MALFORMED = [
    3,
    None,
    {},
    [],
    ["x", "y"],
    [3],
    [None],
    ["x" * 10_000],
    ["\ud800"],
    [" - "],
    ["a b c"],
]


@pytest.mark.parametrize("value", MALFORMED, ids=lambda v: str(v)[:20].encode("ascii", "replace"))
def test_malformed_declines_count_as_none(cue, value):
    messages = [{"role": "user", "content": TOMATO, "id": "m1"}]
    plan = cue.advisor("skill_load").plan(messages, records={DECLINED_KEY: value})
    assert "failed" not in plan.advice.reason
    assert plan.records == cue.advisor("skill_load").plan(messages).records


@given(
    st.lists(
        st.tuples(
            st.text(max_size=8), st.dictionaries(st.text(max_size=6), st.floats(0, 1e6), max_size=3)
        ),
        max_size=40,
    )
)
def test_what_is_persisted_is_bounded_and_read_back_as_it_was(turns):
    declines = Declines()
    for turn, evidence in turns:
        declines.offered(turn, evidence)
        size = len(json.dumps({DECLINED_KEY: declines.record()}))
        assert size <= DECLINED_BYTES
        again = Declines.of(json.loads(json.dumps({DECLINED_KEY: declines.record()})))
        assert again.record() == declines.record()
        again.ended(turn, ())
        declines.ended(turn, ())
        assert again.record() == declines.record()


def test_declines_have_a_room_of_their_own_among_the_records():
    declines = Declines()
    for number in range(100):
        declines.offered(f"t{number}", {f"s{number}": 1.0})
    many = {f"{i:036}": ["skillsight", "some-skill@a/folder/some-skill"] for i in range(40)}
    kept = bounded_records({**many, DECLINED_KEY: declines.record()})
    assert kept[DECLINED_KEY] == declines.record()
    assert [*many][-1] in kept
    assert len(json.dumps(kept)) <= RECORD_BYTES
    oversized = bounded_records({**many, DECLINED_KEY: ["x" * RECORD_BYTES]})
    assert DECLINED_KEY not in oversized and len(oversized) > 5


@every_framework
def test_declines_name_no_skill_that_is_hidden_from_who_goes_on(garden, framework):
    """A thread that another tenant takes over, with its records; and goes back again."""
    with SkillCue(garden, mode="bm25", push=ONE_BLOCK, plugins=[Policy()]) as cue:
        said = chat(*ALTERNATING)
        records = plans(lambda: cue.advisor("skill_load"), said[:-2], framework)[-1].records
        for hide in ([], ["tomato-pruning"], []):
            for kept in (records, None):  # without them, what is in the messages is worked out
                context = {"hide": hide}
                advisor = cue.advisor("skill_load")
                advice = advisor.plan(
                    framework.messages(said), records=kept, run_context=context
                ).advice
                turn = advice.turn
                if kept:
                    assert {*turn.demoted} == ({COMPOST_ID} if hide else {TOMATO_ID, COMPOST_ID})
                told = {hit.skill.id for hit in (*advice.hits, *(r.hit for r in advice.rejected))}
                named = told.union(turn.demoted, turn.visible_skills)
                assert COMPOST_ID in named and (TOMATO_ID in named) is not bool(hide)
