"""One library, many tenants: nothing hidden is seen anywhere, and nothing that is allowed is lost."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.tenants import NAMES, TENANTS, Forgetful, World, answers, mark, worlds

from skillcue import PushSettings, SkillCue
from skillcue.library.naming import fold
from skillcue.push.advisor import Plan
from skillcue_hooks import Advice, LoadedSkill, Query, Ranking, hookimpl
from skillcue_hooks.errors import SkillNotFoundError

MODES = ["bm25", "forgetful"]
EVERYTHING = "garden work with hedges and tools"

users = st.sampled_from(TENANTS)
numbers = st.integers(0, 7)
texts = st.one_of(
    st.just(EVERYTHING),
    numbers.map(lambda n: f"garden work: {mark(n % 7)}"),
    st.sampled_from(NAMES).map(lambda name: f"use the {name} skill"),
    st.sampled_from(NAMES).map(lambda name: f'do not use "{name}", please'),
    numbers.map(lambda n: f"/alder-one and /{n}"),
)
operations = st.one_of(
    st.tuples(st.just("lookup"), users, texts, st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("lookup"), users, st.just(EVERYTHING), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("tools"), users, texts),
    st.tuples(st.just("list"), users),
    st.tuples(st.just("load"), users, numbers),
    st.tuples(st.just("name"), users, st.sampled_from(NAMES)),
    st.tuples(st.just("typo"), users, st.sampled_from(NAMES), numbers),
    st.tuples(st.just("advise"), users, texts),
    st.tuples(st.just("thread"), users, texts),
    st.tuples(st.just("change"), users, answers()),
    st.tuples(st.just("restart"), users, answers()),
)


class Watch:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    @hookimpl
    def skillcue_looked_up(self, query: Query, ranking: Ranking) -> None:
        self.told.append(ranking)

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill) -> None:
        self.told.append(loaded)

    @hookimpl
    def skillcue_advised(self, advice: Advice) -> None:
        self.told.append(advice)


class Checker:
    """Runs operations over one shared `SkillCue` and holds every answer against the oracle."""

    def __init__(self, world: World, mode: str, folder: Path) -> None:
        self.world, self.mode, self.folder = world, mode, folder
        self.watch, self.traces = Watch(), []
        self.versions = itertools.count(1)
        self.thread: list[dict[str, Any]] = []
        self.records: Any = {}
        self.plan: Plan | None = None
        self.open()

    def write(self, record: Any) -> None:
        """Where traces go."""
        self.traces.append(dict(record))

    def open(self) -> None:
        plugins = [self.world.policy, self.world.roles, Forgetful(), self.watch]
        push = PushSettings(load_tokens=200, k=3)
        self.cue = SkillCue(
            self.world.source(),
            mode=self.mode,
            plugins=plugins,
            cache=self.folder,
            traces=self,
            push=push,
        )
        plain = replace(push)
        # Without any cache, and policies of the same answers: what each tenant must get.
        self.fresh = SkillCue(
            self.world.source(), mode=self.mode, plugins=plugins[:3], cache=False, push=plain
        )
        self.skills = self.cue.snapshot().skills
        self.advisor = self.cue.advisor("skill_load")

    def close(self) -> None:
        self.cue.close()
        self.fresh.close()

    def run(self, operation: tuple[Any, ...]) -> None:
        kind, user, *rest = operation
        self.watch.told.clear()
        self.traces.clear()
        getattr(self, f"do_{kind}")(user, *rest)
        if kind not in ("change", "restart"):
            said = [*(a for a in rest if isinstance(a, str)), *(m["content"] for m in self.thread)]
            self.clean(user, self.watch.told, *said)
            self.clean(user, [record for record in self.traces if "offered" in record])

    def clean(self, user: str, shown: Any, *said: str) -> None:
        assert self.world.leaks(user, self.skills, shown, *said) == []

    def visible(self, user: str) -> list[Any]:
        return [s for s in self.world.visible(user, self.skills) if s.searchable]

    def do_lookup(self, user: str, text: str, k: int, offset: int) -> None:
        context = self.world.context(user)
        ranking = self.cue.lookup(text, k=k, offset=offset, run_context=context)
        own = {skill.id for skill in self.visible(user)}
        assert {hit.skill.id for hit in ranking.hits} <= own
        everything = sorted(s.id for s in self.skills if s.searchable)
        noticed = not own.issuperset(everything[offset : offset + k])
        if self.mode == "bm25" or noticed:  # a mode that forgets the policy is seen by its hits
            assert ranking.total <= len(own)
        if text == EVERYTHING if self.mode == "bm25" else noticed:
            assert ranking.total == len(own)
            assert len(ranking.hits) == max(0, min(k, len(own) - offset))
        assert [hit.rank for hit in ranking.hits] == [
            *range(offset + 1, offset + 1 + len(ranking.hits))
        ]
        must = self.fresh.lookup(text, k=k, offset=offset, run_context=context)
        assert (ranking.hits, ranking.total) == (must.hits, must.total)
        self.clean(user, ranking, text)

    def do_tools(self, user: str, text: str) -> None:
        context = self.world.context(user)
        for answer in (
            self.cue.tools().lookup(text, k=9, run_context=context),
            self.cue.tools().list(run_context=context),
        ):
            assert not answer.error
            self.clean(user, (answer.text, dict(answer.data)), text)
            assert answer.data["total"] <= len(self.visible(user)) or self.mode == "forgetful"
        must = self.fresh.tools().list(run_context=context)
        assert self.cue.tools().list(run_context=context) == must

    def do_list(self, user: str) -> None:
        listed = self.cue.list(run_context=self.world.context(user))
        assert {skill.id for skill in listed} == {skill.id for skill in self.visible(user)}

    def do_load(self, user: str, position: int) -> None:
        """By id."""
        skill = self.skills[position % len(self.skills)]
        context = self.world.context(user)
        answer = self.cue.tools().load(skill.id, run_context=context)
        if self.world.sees(user, skill):
            assert answer.data["skill"] == skill.id and skill.body.strip() in answer.text
            assert self.cue.load(skill.id, run_context=context).skill == skill
        else:
            assert answer.error
            self.clean(user, answer.text, skill.id)
            with pytest.raises(SkillNotFoundError) as caught:
                self.cue.load(skill.id, "notes.md", run_context=context)
            self.clean(user, (str(caught.value), caught.value.closest), skill.id)

    def do_name(self, user: str, name: str) -> None:
        """The bare name: of the first that may be seen, as if the others did not exist."""
        own = self.world.visible(user, self.skills)
        first = next((s for s in own if s.name == name), None)
        answer = self.cue.tools().load(name, run_context=self.world.context(user))
        self.clean(user, answer.text, name)
        if first is not None:
            assert answer.data["skill"] == first.id
        elif fold(name) not in {fold(s.name) for s in own}:
            assert answer.error

    def do_typo(self, user: str, name: str, position: int) -> None:
        for wrong in (f"{name}x", f"{self.skills[position % len(self.skills)].id}x"):
            answer = self.cue.tools().load(wrong, run_context=self.world.context(user))
            own = {fold(s.name) for s in self.world.visible(user, self.skills)}
            assert answer.error or fold(wrong) in own
            self.clean(user, answer.text, wrong)

    def do_advise(self, user: str, text: str) -> None:
        messages = [{"role": "user", "content": text}]
        for _ in range(2):  # made, and from the memo
            advice = self.cue.advise(messages, run_context=self.world.context(user))
            self.check_advice(user, advice, text)

    def check_advice(self, user: str, advice: Advice, *said: str) -> None:
        own = {skill.id for skill in self.world.visible(user, self.skills)}
        turn = advice.turn
        assert turn is not None
        shown = {hit.skill.id for hit in (*advice.hits, *(r.hit for r in advice.rejected))}
        named = {*turn.explicit, *turn.declined, *turn.visible_skills, *turn.demoted}
        assert shown <= own and named <= own
        words = [*said, *turn.earlier, turn.context, turn.task]
        self.clean(user, [asdict(replace(advice, turn=None)), str(turn)], *filter(None, words))

    def do_thread(self, user: str, text: str) -> None:
        """A thread that goes from one tenant to the next, its record with it."""
        self.thread.append({"role": "user", "content": text, "id": f"m{len(self.thread)}"})
        context = self.world.context(user)
        plan = self.advisor.plan(self.thread, records=self.records, run_context=context)
        other = self.cue.advisor("skill_load")  # a process that has nothing but the record
        again = other.plan(self.thread, records=self.records, run_context=context)
        said = [message["content"] for message in self.thread]
        for made in (plan, again):
            self.clean(user, made.placements, *said)
            self.check_advice(user, made.advice, *said)
        self.records = json.loads(json.dumps({k: list(v) for k, v in plan.records.items()}))
        self.thread.append({"role": "assistant", "content": "Done."})

    def do_change(self, user: str, answer: Any) -> None:
        """The policy says something else, and its key says so."""
        self.world.policy.answers[user] = replace(answer, version=next(self.versions))

    def do_restart(self, user: str, answer: Any) -> None:
        """Another process with the same folder; the policy says something else under its old key."""
        self.close()
        version = self.world.policy.answers[user].version
        self.world.policy.answers[user] = replace(answer, version=version)
        self.open()


@contextmanager
def checking(world: World, mode: str) -> Iterator[Checker]:
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(world, mode, Path(folder))
        try:
            yield checker
        finally:
            checker.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(world=worlds(), steps=st.lists(operations, min_size=4, max_size=10))
def test_nothing_hidden_is_seen_and_nothing_allowed_is_lost(mode, world, steps):
    with checking(world, mode) as checker:
        for step in steps:
            checker.run(step)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(world=worlds(), seed=st.integers(0, 2**16))
def test_tenants_at_once(mode, world, seed):
    """Each in a thread of its own, in the same caches at the same time."""
    with checking(world, mode) as checker:
        start = threading.Barrier(len(TENANTS))

        def tenant(user: str) -> None:
            own = random.Random(seed)  # the same requests for all of them
            start.wait(timeout=30)
            for _ in range(8):
                kind = own.choice(["lookup", "tools", "list", "name", "advise"])
                name = own.choice(NAMES)
                text = own.choice([EVERYTHING, f"use the {name} skill", f"work {mark(2)}"])
                rest = {"lookup": (text, 4, 0), "list": (), "name": (name,)}.get(kind, (text,))
                getattr(checker, f"do_{kind}")(user, *rest)

        with ThreadPoolExecutor(len(TENANTS)) as pool:
            for done in [pool.submit(tenant, user) for user in TENANTS]:
                done.result()
