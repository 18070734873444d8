"""Known transitions, through real stores of events: suggested only where that beats search.

`p` and `q` are what the conversations are drawn from; the fit sees the stored events alone. Seeded,
so the numbers are the same in any run.
"""

from __future__ import annotations

import random

import pytest
from support.next_histories import Chain, Writer, write_chains

from skillcue.successors import NextSettings
from skillcue.successors.model import fit

SETTINGS = NextSettings()
PUBLISHED_P = 0.735
"""How often search finds the skill, as published for a library of 690."""


def chains(number, q, p, **more):
    return [Chain(f"a{i}", f"b{i}", q, p, **more) for i in range(number)]


def suggested(path, settings=SETTINGS):
    """(after, then) by name of what would be suggested."""
    learned = fit(path, settings, frozenset)
    return {
        (item.after.partition("@")[0], item.then.partition("@")[0])
        for several in learned.evidence.values()
        for item in several
        if item.why == "better"
    }


def right(several):
    return {(chain.first, chain.then) for chain in several}


@pytest.mark.parametrize(("q", "p"), [(0.95, PUBLISHED_P), (0.85, 0.5)])
def test_where_q_exceeds_p_what_follows_is_suggested(tmp_path, q, p):
    several = chains(30, q, p)
    write_chains(tmp_path / "events.db", several, threads=150, seed=1)
    found = suggested(tmp_path / "events.db")
    assert found <= right(several)
    assert len(found) >= 27


@pytest.mark.parametrize(("q", "p"), [(0.67, PUBLISHED_P), (0.55, 0.8), (0.9, 0.97)])
def test_where_p_exceeds_q_it_is_silent(tmp_path, q, p):
    write_chains(tmp_path / "events.db", chains(40, q, p), threads=100, seed=2)
    assert len(suggested(tmp_path / "events.db")) <= 1


def test_where_anything_follows_it_is_silent(tmp_path):
    """Even where search never finds anything: then nothing is likely to be right."""
    several = chains(40, 1 / 7, 0.0)
    write_chains(tmp_path / "events.db", several, threads=100, seed=3)
    assert suggested(tmp_path / "events.db") == set()


@pytest.mark.parametrize("share", [0.6, PUBLISHED_P, 0.9])
def test_where_both_are_as_good_it_errs_as_seldom_as_stated(tmp_path, share):
    """The worst case: of 160 skills at a confidence of 0.95, 8 are expected, more than 16 in 1 of 350."""
    several = chains(160, share, share)
    write_chains(tmp_path / "events.db", several, threads=60, seed=4)
    assert len(suggested(tmp_path / "events.db")) <= 16


def test_it_tells_skills_apart(tmp_path):
    good, bad = chains(15, 0.95, 0.6), [Chain(f"c{i}", f"d{i}", 0.6, 0.9) for i in range(15)]
    write_chains(tmp_path / "events.db", [*good, *bad], threads=100, seed=5)
    assert suggested(tmp_path / "events.db") == right(good)


def test_what_is_suggested_is_right_more_often_than_search_from_then_on(tmp_path):
    """Libraries of all sorts: on conversations that the fit has not seen."""
    rng = random.Random(6)
    several = [Chain(f"a{i}", f"b{i}", rng.uniform(0.4, 1), rng.uniform(0.4, 1)) for i in range(80)]
    write_chains(tmp_path / "events.db", several, threads=120, seed=6)
    found = suggested(tmp_path / "events.db")
    assert found <= right(several)
    chosen = [chain for chain in several if (chain.first, chain.then) in found]
    assert len(chosen) >= 10
    later = [(c.follows(rng) == c.then, rng.random() < c.p) for c in chosen for _ in range(200)]
    followed = sum(rng_q for rng_q, _ in later) / sum(1 - c.ends for c in chosen) / 200
    assert followed > sum(found for _, found in later) / len(later) + 0.1
    wrong = [chain for chain in chosen if chain.q <= chain.p]
    assert len(wrong) <= 1


def test_agents_that_obey_do_not_prove_that_it_was_right(tmp_path):
    """Whatever is shown is loaded: what follows by itself has changed, and that is what counts."""
    chain, changed = Chain("a", "b", 0.95, 0.5), Chain("a", "c", 0.95, 0.5)
    rng, writer = random.Random(7), Writer()
    for number in range(60):
        writer.conversation(f"early-{number}", chain, rng)
    writer.write(tmp_path / "events.db")
    assert suggested(tmp_path / "events.db") == {("a", "b")}
    for number in range(600):
        if number % 10:  # nine of ten see it, and obey
            writer.load(f"late-{number}", "a")
            writer.shown(f"late-{number}", "a", "b")
            writer.load(f"late-{number}", "b")
        else:
            writer.conversation(f"late-{number}", changed, rng)
    writer.write(tmp_path / "events.db")
    assert ("a", "b") not in suggested(tmp_path / "events.db")
    for number in range(80):
        writer.conversation(f"last-{number}", changed, rng)
    writer.write(tmp_path / "events.db")
    assert suggested(tmp_path / "events.db") == {("a", "c")}
