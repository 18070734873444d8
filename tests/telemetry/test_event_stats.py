"""What the events of a store say, summed up by hand."""

from __future__ import annotations

from skillcue.telemetry.reading import Event
from skillcue.telemetry.stats import Missed, ModeStats, SkillStats, sum_up
from skillcue_hooks.language import Usage


def turn(at, key, *skills, mode="m", **more):
    decision = more.pop("decision", "offer" if skills else "abstain")
    tokens = more.pop("tokens", 10 if skills else 0)
    return Event(at, "turn", "s", key, mode, decision, skills, tokens, **more)


def lookup(at, key, *skills, mode="m", **more):
    return Event(at, "lookup", "s" if key else "", key, mode, skills=skills, tokens=5, **more)


def load(at, key, skill, **more):
    session = more.pop("session", "s" if key else "")
    return Event(at, "load", session, key, skills=(skill,), tokens=100, **more)


def test_nothing():
    stats = sum_up([])
    assert (stats.first, stats.last, stats.turns, stats.tokens) == (0.0, 0.0, 0, 0)
    assert (stats.modes, stats.skills, stats.missed) == ((), (), ())


def test_shown_read_and_ignored():
    stats = sum_up(
        [
            turn(1, "t1", "a", "b"),
            load(2, "t1", "a"),
            turn(3, "t2", "a"),
            turn(4, "t3"),
            load(5, "t3", "c"),
            turn(6, "t4", "b", decision="load"),
            load(7, "", "d"),
        ]
    )
    assert stats.skills == (
        SkillStats("a", offered=2, loaded_after=1, loads=1),
        SkillStats("c", loads=1),
        SkillStats("d", loads=1),
        SkillStats("b", offered=2, loaded_after=1),
    )
    assert [skill.ignored for skill in stats.skills] == [1, 0, 0, 1]
    (mode,) = stats.modes
    assert mode == ModeStats(
        "m",
        turns=4,
        decided=4,
        advised=3,
        followed=2,
        unadvised=1,
        loads=2,
        advice_tokens=30,
        load_tokens=200,
    )
    assert (stats.loads_elsewhere, stats.tokens_elsewhere, stats.tokens) == (1, 100, 330)
    assert (stats.turns, stats.sessions, stats.first, stats.last) == (4, 1, 1, 7)


def test_a_skill_is_read_once_a_turn_whatever_its_pages_and_files():
    stats = sum_up(
        [
            turn(1, "t1", "a"),
            load(2, "t1", "a"),
            load(3, "t1", "a", page=2),
            load(4, "t1", "a", file="notes.md"),
            load(5, "t1", "a"),
        ]
    )
    assert stats.skills == (SkillStats("a", offered=1, loaded_after=1, loads=1),)
    assert stats.modes[0].load_tokens == 400


def test_a_file_beside_a_skill_alone_is_no_reading_of_the_skill():
    stats = sum_up([turn(1, "t1", "a"), load(2, "t1", "a", file="notes.md")])
    assert stats.skills == (SkillStats("a", offered=1),)
    assert stats.modes[0].followed == 0


def test_a_turn_decided_again_counts_once_and_costs_twice():
    cost = Usage(1, 100, 10, 0.5)
    stats = sum_up(
        [
            turn(1, "t1", "a", cost=cost),
            load(2, "t1", "b"),
            turn(3, "t1", "b", mode="n", cost=cost),
        ]
    )
    assert [(m.mode, m.turns, m.decided, m.followed, m.cost.calls) for m in stats.modes] == [
        ("m", 0, 0, 0, 1),
        ("n", 1, 1, 1, 1),
    ]
    assert sum((m.cost for m in stats.modes), Usage()) == Usage(2, 200, 20, 1.0)


def test_equal_words_in_two_conversations_are_two_turns():
    one, two = turn(1, "t", "a"), turn(2, "t", "a")
    other = Event(**{**{f: getattr(two, f) for f in two.__slots__}, "session": "s2"})
    stats = sum_up([one, other, load(3, "t", "a", session="s2")])
    assert (stats.turns, stats.sessions) == (2, 2)
    assert stats.skills == (SkillStats("a", offered=2, loaded_after=1, loads=1),)


def test_a_load_that_names_no_conversation_is_of_the_one_that_has_its_turn():
    alone = [turn(1, "t", "a"), load(2, "t", "a", session="")]
    assert sum_up(alone).modes[0].followed == 1
    other = Event(1, "turn", "s2", "t", "m", "offer", ("a",))
    assert [m.followed for m in sum_up([*alone, other]).modes if m.decided] == [0]


def test_lookups_that_gave_nothing():
    stats = sum_up(
        [
            turn(1, "t1"),
            lookup(2, "t1", "a", "b", text="used"),
            load(3, "t1", "b"),
            turn(4, "t2"),
            lookup(5, "t2", "a", text="not used"),
            load(6, "t2", "c"),
            lookup(7, "t2", text="nothing", miss="none"),
            lookup(8, "", text="nothing", miss="none"),
            lookup(9, "", "a", text="vague", miss="weak"),
            lookup(10, "", "a", text="who knows what became of it"),
            lookup(11, "t2", text="there is no more of this", miss=""),
        ]
    )
    assert stats.missed == (
        Missed("none", "nothing", 2, 8),
        Missed("ignored", "not used", 1, 5),
        Missed("weak", "vague", 1, 9),
    )
    assert (stats.modes[0].lookups, stats.modes[0].missed) == (7, 3)
    assert {skill.skill: skill.found for skill in stats.skills} == {"a": 4, "b": 1, "c": 0}


def test_misses_without_words_are_counted_together():
    stats = sum_up([lookup(at, "", miss="none") for at in range(3)])
    assert stats.missed == (Missed("none", "", 3, 2),)


def test_pull_alone_has_turns_as_well():
    stats = sum_up(
        [lookup(1, "t1", "a"), load(2, "t1", "a"), load(3, "t2", "a"), lookup(4, "t3", mode="n")]
    )
    assert [(m.mode, m.turns, m.decided, m.loads, m.tokens) for m in stats.modes] == [
        ("", 1, 0, 1, 100),
        ("m", 1, 0, 1, 105),
        ("n", 1, 0, 0, 5),
    ]
    assert stats.turns == 3


def test_what_was_not_shown_took_no_tokens():
    stats = sum_up([turn(1, "t1", "a", shadow=True), turn(2, "t2", "a")])
    assert (stats.shadow, stats.modes[0].advice_tokens, stats.modes[0].advised) == (1, 10, 2)


def test_failures_are_counted():
    lost = [turn(at, "", mode="", error="OSError") for at in (3, 4)]  # no turn is known of them
    stats = sum_up([turn(1, "t1", error="TimeoutError"), turn(2, "t2"), *lost])
    assert [(m.mode, m.failed, m.decided, m.turns) for m in stats.modes] == [
        ("", 2, 0, 0),
        ("m", 1, 2, 2),
    ]


def test_the_order_of_events_of_equal_rank_does_not_matter():
    events = [turn(1, f"t{n}", name) for n, name in enumerate("dbca")]
    assert sum_up(events).skills == sum_up(events[::-1]).skills
