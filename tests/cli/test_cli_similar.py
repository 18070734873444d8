"""Near-duplicate descriptions: exact against brute force, bounded, deterministic."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillcue.commands.similar import SIMILARITY, find_alike
from skillcue_adapters.analyzer import ANALYZER
from skillcue_hooks import Skill


def skill(number: int, description: str) -> Skill:
    return Skill(id=f"s{number:04}@s{number:04}", name=f"s{number}", description=description)


def jaccard(one: Skill, other: Skill) -> float:
    a, b = (set(ANALYZER.terms(s.description)) for s in (one, other))
    return len(a & b) / len(a | b) if a | b else 0.0


def grouped_by_hand(skills: list[Skill], threshold: float) -> list[tuple[str, set[str]]]:
    """What the docstring promises, without an index."""
    groups: list[tuple[Skill, list[Skill]]] = []
    for candidate in sorted(skills, key=lambda s: s.id):
        if not ANALYZER.terms(candidate.description):
            continue
        near = [(jaccard(candidate, first), -i) for i, (first, _) in enumerate(groups)]
        best = max(near, default=(0.0, 0))
        if best[0] >= threshold:
            groups[-best[1]][1].append(candidate)
        else:
            groups.append((candidate, []))
    return [(first.id, {s.id for s in others}) for first, others in groups if others]


words = st.lists(st.sampled_from(list("abcdefgh")), max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(words, max_size=25), st.sampled_from([0.5, 0.6, SIMILARITY, 0.75, 0.8, 1.0]))
def test_the_index_misses_no_pair(descriptions, threshold):
    skills = [skill(number, " ".join(text)) for number, text in enumerate(descriptions)]
    found = find_alike(skills, threshold)
    assert found.complete
    groups = {group.first.id: {s.id for s, _ in group.others} for group in found.groups}
    assert groups == dict(grouped_by_hand(skills, threshold))
    for group in found.groups:
        for other, similarity in group.others:
            assert similarity == pytest.approx(jaccard(group.first, other))


def test_a_pair_right_at_the_threshold_counts():
    # As floating point numbers 0.56 * 25 is more than 14, and 14 / 25 is not less than 0.56.
    assert 0.56 * 25 > 14
    many = [f"t{n}" for n in range(25)]
    skills = [
        skill(1, " ".join(many)),
        skill(2, " ".join(many[:14])),
        skill(3, " ".join(many[11:])),
    ]
    (group,) = find_alike(skills, 0.56).groups
    assert [similarity for _, similarity in group.others] == [0.56, 0.56]


def test_the_order_of_the_skills_does_not_matter():
    rng = random.Random(7)
    vocabulary = [f"word{n}" for n in range(30)]
    skills = [skill(n, " ".join(rng.choices(vocabulary, k=6))) for n in range(200)]
    expected = find_alike(skills, 0.5)
    assert expected.groups
    rng.shuffle(skills)
    assert find_alike(skills, 0.5) == expected


def test_a_search_that_is_cut_short_says_so():
    skills = [skill(n, f"shared words here number{n}") for n in range(100)]
    assert find_alike(skills, 0.7).complete
    assert not find_alike(skills, 0.7, budget=10).complete


def test_thousands_of_copies_are_compared_with_one_each():
    same = [skill(n, "Automates one of many services by its tools.") for n in range(5_000)]
    found = find_alike(same, budget=6_000)
    assert found.complete
    assert [len(group.others) for group in found.groups] == [4_999]


def test_chinese_descriptions_are_compared_by_their_words():
    one, two = skill(1, "批改学生的作文并打分"), skill(2, "批改学生的作文并给分")
    far = skill(3, "清理表格里的重复数据")
    assert all(jaccard(a, b) < SIMILARITY for a, b in combinations((one, far), 2))
    (group,) = find_alike([one, two, far], 0.5).groups
    assert [s.id for s, _ in group.others] == [two.id]
