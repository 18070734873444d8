"""Who sees what of an index: tenants in the index itself, policies on what is met."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from support.conversations import PHRASES, write_garden
from support.indexes import WALKS, WatchedIndex, over, put

from skillcue import SkillCue, StaticSource
from skillcue_hooks import Query, Scope, hookimpl
from skillcue_hooks.errors import SkillNotFoundError
from skillcue_hooks.testing import make_skill

TOMATO = PHRASES[0]
NAME = "tomato-pruning"
SECRET = "zebra-payroll"


class ByTenant:
    """Leaves the tenants that the run names; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope | None:
        named = context.get("tenants")
        return None if named is None else Scope(f"of {named}", tenants=named)


class Hiding:
    def __init__(self, *hidden: str) -> None:
        self.hidden = set(hidden)
        self.asked: list[str] = []
        self.fails = False
        self.bodies: set[str] = set()

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
        return Scope("hiding", self.allows)

    def allows(self, skill: Any) -> bool:
        if self.fails:
            raise RuntimeError("out of order")
        self.asked.append(skill.id)
        self.bodies.add(skill.body)
        return skill.name not in self.hidden


@pytest.fixture
def index(tmp_path):
    filled = WatchedIndex()
    put(write_garden(tmp_path / "garden"), filled, "shared")
    secret = make_skill(SECRET, f"{TOMATO} with the payroll of zebras", "Secret body.")
    put(StaticSource("secrets", [secret]), filled, "zebra")  # type: ignore[arg-type]
    return filled


def everything(cue: SkillCue, **more: Any) -> dict[str, str]:
    """What each way to ask shows, as text."""
    tools = cue.tools()
    advisor = cue.advisor("skill_load")
    records = {"m1": ["bm25", f"{SECRET}@zebra/{SECRET}", f"{NAME}@shared/{NAME}"]}
    old = [{"role": "user", "content": "yes", "id": "m1"}]
    return {
        "list": str([skill.name for skill in cue.list(**more)]),
        "lookup": str([hit.skill.name for hit in cue.lookup(TOMATO, k=20, **more).hits]),
        "advise": cue.advise([{"role": "user", "content": TOMATO}], **more).text,
        "named": cue.advise([{"role": "user", "content": f"use the {SECRET} skill"}], **more).text,
        "record": str(advisor.plan(old, records=records, **more).placements),
        "skill_list": tools.list(**more).text,
        "skill_lookup": tools.lookup(TOMATO, **more).text,
        "skill_load": tools.load(SECRET[:-1], **more).text.replace(SECRET[:-1], "", 1),
        "skill_load id": tools.load(f"{SECRET}@zebra/{SECRET}x", **more).text.replace(
            f"{SECRET}@zebra/{SECRET}x", "", 1
        ),
        "skill_load it": tools.load(SECRET, **more).text.replace(SECRET, "", 1),
    }


def test_a_skill_of_a_tenant_is_everywhere_for_whoever_has_it(index):
    shown = everything(over(index, "shared", "zebra"))
    missing = [way for way, text in shown.items() if "zebra" not in text]
    assert missing == ["advise"]  # where the other skill stands out


def test_another_tenant_is_nowhere(index):
    shown = everything(over(index, "shared"))
    assert [way for way, text in shown.items() if "zebra" in text or "Secret" in text] == []
    assert NAME in shown["list"]


def test_a_run_is_narrowed_to_its_tenants(index):
    cue = over(index, "shared", "zebra", plugins=[ByTenant()])
    for _again in range(2):  # what one run was shown is not kept for another
        assert SECRET in str(everything(cue, run_context={"tenants": ("zebra",)}))
        shown = everything(cue, run_context={"tenants": ("shared", "elsewhere")})
        assert [way for way, text in shown.items() if "zebra" in text or "Secret" in text] == []
        assert NAME in shown["lookup"]
    nobody = everything(cue, run_context={"tenants": ()})
    assert NAME not in str(nobody)
    assert SECRET not in str(nobody)
    assert NAME in str(everything(cue))


def test_several_policies_leave_the_tenants_that_all_leave(index):
    class Other:
        @hookimpl
        def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
            return Scope("other", tenants=("shared",))

    cue = over(index, "shared", "zebra", plugins=[ByTenant(), Other()])
    both = cue.list(run_context={"tenants": ("shared", "zebra")})
    assert SECRET not in [skill.name for skill in both]
    assert NAME in [skill.name for skill in both]
    assert cue.list(run_context={"tenants": ("zebra",)}) == ()


def test_a_decision_for_some_tenants_is_none_for_others_under_the_same_key(index):
    class Careless:
        @hookimpl
        def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
            return Scope("always the same", tenants=context["tenants"])

    cue = over(index, "shared", "zebra", plugins=[Careless()])
    advisor = cue.advisor("skill_load")
    say = [{"role": "user", "content": f"use the {SECRET} skill", "id": "m1"}]
    under_way = [*say, {"role": "assistant", "content": "Let me see."}]
    first = advisor.plan(say, run_context={"tenants": ("zebra",)})
    assert SECRET in first.advice.text
    for messages in (say, under_way):
        other = advisor.plan(messages, run_context={"tenants": ("shared",)}).placements
        assert SECRET not in str(other)


@pytest.mark.parametrize("tenants", ["shared", ["shared"], (1,), 5])
def test_what_names_no_tenants_hides_everything(index, tenants):
    class Wrong:
        @hookimpl
        def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
            return Scope("wrong", tenants=tenants)

    cue = over(index, "shared", plugins=[Wrong()])
    assert cue.list() == ()
    assert cue.lookup(TOMATO).hits == ()


def test_skills_of_folders_are_of_the_tenant_without_a_name(tmp_path):
    cue = SkillCue(write_garden(tmp_path / "garden"), mode="bm25", plugins=[ByTenant()])
    assert cue.lookup(TOMATO, run_context={"tenants": ("", "acme")}).hits
    assert cue.list(run_context={"tenants": ("acme",)}) == ()
    assert cue.lookup(TOMATO, run_context={"tenants": ("acme",)}).hits == ()
    with pytest.raises(SkillNotFoundError):
        cue.load(NAME, run_context={"tenants": ("acme",)})


def test_a_policy_is_asked_about_what_is_met_and_hides_it_everywhere(index):
    policy = Hiding(SECRET)
    cue = over(index, "shared", "zebra", plugins=[policy])
    cue.load(NAME)  # looked up together with its body
    index.calls.clear()
    hits = cue.lookup(TOMATO, k=3).hits
    assert hits[0].skill.name == NAME
    assert not any(index.calls[name] for name in WALKS)
    shown = everything(cue)
    assert [way for way, text in shown.items() if "zebra" in text or "Secret" in text] == []
    assert policy.bodies == {""}


def test_an_answer_of_a_policy_is_asked_for_once(index):
    policy = Hiding()
    cue = over(index, "shared", plugins=[policy])
    cue.lookup(TOMATO)
    before = len(policy.asked)
    cue.lookup(TOMATO)
    assert len(policy.asked) == before > 0


def test_what_a_policy_could_not_judge_is_hidden_until_it_can(index, caplog):
    policy = Hiding()
    cue = over(index, "shared", plugins=[policy])
    policy.fails = True
    with caplog.at_level(logging.CRITICAL, "skillcue.policy"):
        assert cue.lookup(TOMATO).hits == ()
        assert cue.list() == ()
    policy.fails = False
    assert cue.lookup(TOMATO).hits[0].skill.name == NAME


def test_what_was_ranked_under_a_policy_is_not_cached(index, tmp_path):
    """The same key says something else after a restart."""
    cue = over(index, "shared", "zebra", plugins=[Hiding()], cache=tmp_path / "cache")
    assert SECRET in [hit.skill.name for hit in cue.lookup(TOMATO).hits]
    assert not cue.lookup(TOMATO).cached
    later = over(index, "shared", "zebra", plugins=[Hiding(SECRET)], cache=tmp_path / "cache")
    assert SECRET not in [hit.skill.name for hit in later.lookup(TOMATO).hits]


def test_what_was_ranked_for_tenants_is_cached_for_them(index, tmp_path):
    cue = over(index, "shared", "zebra", plugins=[ByTenant()], cache=tmp_path / "cache")
    for tenants in (("shared",), ("zebra",)):
        run = {"tenants": tenants}
        first = cue.lookup(TOMATO, run_context=run)
        again = cue.lookup(TOMATO, run_context=run)
        assert again.cached
        assert [h.skill.id for h in again.hits] == [h.skill.id for h in first.hits]
        assert {h.skill.id.partition("@")[2].partition("/")[0] for h in again.hits} == set(tenants)


def test_a_policy_that_answers_nonsense_asks_the_index_for_nothing(index):
    class Broken:
        @hookimpl
        def skillcue_filter_skills(self, context: Mapping[str, Any], library: Any) -> Scope:
            raise RuntimeError("out of order")

    cue = over(index, "shared", plugins=[Broken()])
    cue.snapshot()
    assert cue.lookup(TOMATO).hits == ()
    snapshot, scope = cue.seen({})
    assert snapshot.library.tenants == ()
    assert scope is not None
    ranking = cue.search(Query(TOMATO, scope=scope), "bm25", snapshot)
    assert ranking.hits == ()
