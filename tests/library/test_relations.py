"""What skill files say about others: read, resolved, and dropped where it contradicts itself."""

from __future__ import annotations

import random
from graphlib import TopologicalSorter

import pytest

from skillcue import FolderSource, SkillCue
from skillcue.library import CODES
from skillcue.library.relations import KINDS, read_relations


@pytest.fixture
def library(tmp_path):
    """Builds a library from front-matter lines by name, and gives its snapshot."""

    def build(skills, untrusted=()):
        for name, lines in skills.items():
            root = "untrusted" if name in untrusted else "trusted"
            folder = tmp_path / root / name
            folder.mkdir(parents=True)
            header = f"---\nname: {name}\ndescription: does {name}\n{lines}\n---\n"
            folder.joinpath("SKILL.md").write_text(f"{header}Body of {name}\n", "utf-8")
        sources = [FolderSource(tmp_path / "trusted", trust="trusted")]
        if untrusted:
            sources.append(FolderSource(tmp_path / "untrusted", trust="untrusted"))
        with SkillCue(sources) as cue:
            return cue.snapshot()

    return build


def held(snapshot):
    return [
        (r.skill.partition("@")[0], r.kind, r.target.partition("@")[0])
        for r in snapshot.relations.all
    ]


def codes(snapshot):
    return sorted(
        (item.code, item.path.parent.name)
        for item in snapshot.diagnostics
        if item.code.startswith("relation-")
    )


def of(snapshot, name):
    return [
        (said, target.partition("@")[0]) for said, target in snapshot.relations.of(f"{name}@{name}")
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "requires: b, c",
        "requires: [b, c, b]",
        "requires:\n  - b\n  - c",
        "metadata:\n  requires: b, c",
        "metadata:\n  Requires: [b@b, C]",
    ],
)
def test_a_relation_is_read_however_it_is_written(library, lines):
    snapshot = library({"a": lines, "b": "", "c": ""})
    assert held(snapshot) == [("a", "requires", "b"), ("a", "requires", "c")]
    assert of(snapshot, "a") == [("Requires", "b"), ("Requires", "c")]
    assert codes(snapshot) == []


@pytest.mark.parametrize(
    ("lines", "targets", "unknown"),
    [
        ("requires: [1, {x: y}, b]", ["b"], ["1", "x: y"]),
        ("metadata:\n  requires: [1, {x: y}, b]", ["b"], ["1", "x: y"]),
        ("requires: {b: 1}", [], ["b: 1"]),
        ("requires: [b, {x: [y, c]}]", ["b"], ["x: y, c"]),
        ("requires: [[b], [c, d]]", ["b", "c"], ["d"]),
        ("requires: [b, 1]", ["b"], ["1"]),
    ],
)
def test_what_is_no_name_in_a_relation_is_told_and_the_others_hold(
    library, lines, targets, unknown
):
    snapshot = library({"a": lines, "b": "", "c": ""})
    assert held(snapshot) == [("a", "requires", target) for target in targets]
    told = [item.message for item in snapshot.diagnostics if item.code == "relation-unknown"]
    assert told == [f"requires: there is no skill {name!r}." for name in unknown]


def test_a_relation_has_a_bound_however_it_is_written(library):
    names = [f"s{n}" for n in range(60)]
    skills = {"a": f"requires: [{', '.join(names)}, [s0]]", **dict.fromkeys(names, "")}
    assert len(held(library(skills))) == 50


def test_spellings_of_a_type(library):
    snapshot = library({"a": "alternative_to: b", "b": "", "c": "Feeds Into: b"})
    assert held(snapshot) == [("a", "alternative-to", "b"), ("c", "feeds-into", "b")]


def test_each_type_says_what_it_means_to_whom_it_concerns(library):
    snapshot = library({"a": "\n".join(f"{kind}: {kind}-b" for kind in KINDS)}
                       | {f"{kind}-b": "" for kind in KINDS})  # fmt: skip
    assert of(snapshot, "a") == [(k.told, f"{k.name}-b") for k in KINDS.values() if k.told]
    for kind in KINDS.values():
        told = [(kind.told_back, "a")] if kind.told_back else []
        assert of(snapshot, f"{kind.name}-b") == told


def test_what_names_no_skill_is_not_used_and_says_so(library):
    snapshot = library({"a": "requires: [python, b]", "b": ""})
    assert held(snapshot) == [("a", "requires", "b")]
    assert codes(snapshot) == [("relation-unknown", "a")]
    (item,) = [d for d in snapshot.diagnostics if d.code == "relation-unknown"]
    assert "'python'" in item.message and item.severity == "info"


def test_requirements_of_another_kind_are_no_relations(library):
    snapshot = library({"a": "metadata:\n  tool:\n    requires:\n      bins: [jq]"})
    assert (held(snapshot), codes(snapshot)) == ([], [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("precedes: b", "precedes: a"),
        ("precedes: b", "feeds-into: a"),
        ("requires: b", "follows: a\nrequires: a"),
        ("requires: b", "follows: a"),
        ("precedes: b\nrequires: b", ""),
        ("specializes: b", "specializes: a"),
        ("routes-to: b", "routes-to: a"),
        ("verifies: b", "verifies: a"),
        ("alternative-to: b", "requires: a"),
        ("alternative-to: b\ncomplements: b", ""),
    ],
)
def test_a_pair_that_contradicts_itself_loses_all_its_relations(library, one, other):
    snapshot = library({"a": one, "b": other, "c": "precedes: [a, b]"})
    assert held(snapshot) == [("c", "precedes", "a"), ("c", "precedes", "b")]
    assert {code for code, _ in codes(snapshot)} == {"relation-contradiction"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("precedes: b", "follows: a"),
        ("precedes: b", "requires: a"),
        ("complements: b", "complements: a"),
        ("alternative-to: b", "alternative-to: a"),
        ("alternative-to: b", "specializes: a"),
        ("feeds-into: b", "verifies: a"),
        ("specializes: b", "precedes: a"),
    ],
)
def test_a_pair_that_agrees_keeps_its_relations(library, one, other):
    snapshot = library({"a": one, "b": other})
    assert len(held(snapshot)) == 2
    assert codes(snapshot) == []


def test_a_circle_is_dropped_and_what_leads_to_it_is_not(library):
    snapshot = library(
        {
            "a": "precedes: b",
            "b": "feeds-into: c",
            "c": "requires: d",
            "d": "follows: a",
            "e": "precedes: a\nalternative-to: b",
            "x": "precedes: y",
            "y": "",
        }
    )
    assert held(snapshot) == [
        ("a", "precedes", "b"),
        ("b", "feeds-into", "c"),
        ("c", "requires", "d"),
        ("d", "follows", "a"),
        ("e", "alternative-to", "b"),
        ("e", "precedes", "a"),
        ("x", "precedes", "y"),
    ]
    circle = library(
        {
            "k": "precedes: l",
            "l": "feeds-into: m",
            "m": "precedes: k",
            "n": "precedes: k",
            "o": "follows: m",
        }
    )
    assert [r for r in held(circle) if r[0] in "klmno"] == [
        ("n", "precedes", "k"),
        ("o", "follows", "m"),
    ]
    assert codes(circle) == [("relation-cycle", name) for name in "klm"]
    assert "k, l, m" in next(d.message for d in circle.diagnostics if d.code == "relation-cycle")


def test_a_skill_has_no_relation_to_itself(library):
    snapshot = library({"a": "alternative-to: a\nprecedes: b", "b": ""})
    assert held(snapshot) == [("a", "precedes", "b")]
    assert codes(snapshot) == [("relation-cycle", "a")]


def test_untrusted_files_say_nothing_and_break_nothing(library):
    trusted = {"a": "precedes: b", "b": ""}
    snapshot = library({**trusted, "z": "precedes: a\nfollows: b"}, untrusted=("z",))
    assert held(snapshot) == [("a", "precedes", "b")]
    assert codes(snapshot) == [("relation-untrusted", "z")]


def test_the_order_of_files_changes_nothing(library, tmp_path):
    rng = random.Random(1)
    names = [f"s{i}" for i in range(30)]
    kinds = sorted(KINDS)
    skills = {
        name: "\n".join(
            f"{kind}: [{', '.join(rng.sample(names, 2))}]" for kind in rng.sample(kinds, 2)
        )
        for name in names
    }
    first = library(skills)
    backwards = FolderSource(tmp_path / "trusted", trust="trusted")
    scanned = backwards.scan(None)
    by_name = {skill.name: skill for skill in scanned.skills}
    again = read_relations(reversed(scanned.skills), by_name.get)
    assert again.all == first.relations.all
    assert len(again.all) > 5 and len(again.diagnostics) > 5


def test_nothing_that_holds_contradicts_anything_that_holds(library):
    """What is kept of random relations has an order: each skill can come after what precedes it."""
    rng = random.Random(2)
    names = [f"s{i}" for i in range(40)]
    snapshot = library(
        {
            name: "\n".join(f"{kind}: {rng.choice(names)}" for kind in rng.sample(sorted(KINDS), 2))
            for name in names
        }
    )
    graph = TopologicalSorter()
    for relation in snapshot.relations.all:
        if KINDS[relation.kind].order == "time":
            graph.add(*reversed(relation.earlier))
    assert len(list(graph.static_order())) > 10  # a circle raises


def test_codes_are_documented():
    assert {code for code in CODES if code.startswith("relation-")} == {
        "relation-unknown",
        "relation-contradiction",
        "relation-cycle",
        "relation-untrusted",
    }
