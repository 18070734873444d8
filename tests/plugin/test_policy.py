"""Who may see what: one policy for list, lookup, load, push, names and error messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.conversations import PHRASES
from support.ids import steady
from support.modes import CountingModes
from support.policies import Assessor, ModePolicy, Observer, Policy

from skillcue import FolderSource, SkillCue, StaticSource
from skillcue_hooks import Hit, Library, Query, Ranking, Scope, Skill, SourceScan, hookimpl
from skillcue_hooks.errors import (
    ConfigurationError,
    LibraryNotFoundError,
    PluginError,
    SkillFileError,
    SkillNotFoundError,
    UnknownModeError,
)

TOMATO, COMPOST = PHRASES[:2]
NAME = "tomato-pruning"
ID = f"{NAME}@{NAME}"


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def everything(cue: SkillCue, **more: Any) -> dict[str, str]:
    """What each way to ask shows, as text."""
    tools = cue.tools()
    recorded = {"m1": ["bm25", ID, "bee-hotel@bee-hotel"]}
    advisor = cue.advisor("skill_load")
    old = [{"role": "user", "content": "yes", "id": "m1"}]
    return {
        "list": str([skill.name for skill in cue.list(**more)]),
        "lookup": str([hit.skill.name for hit in cue.lookup(TOMATO, k=20, **more).hits]),
        "advise": cue.advise(say(TOMATO), **more).text,
        "named": cue.advise(say(f"use the {NAME} skill"), **more).text,
        "record": str(advisor.plan(old, records=recorded, **more).placements),
        "skill_list": tools.list(**more).text,
        "skill_lookup": tools.lookup(TOMATO, **more).text,
        "skill_load": tools.load("tomato-prunin", **more).text,
        "skill_load id": tools.load(f"{ID}x", **more).text,
    }


def test_without_a_policy_everything_shows_it(garden):
    shown = everything(SkillCue(garden))
    assert [way for way, text in shown.items() if NAME not in text] == []


@pytest.mark.parametrize("cache", [None, False])
def test_what_is_hidden_is_hidden_everywhere(garden, cache):
    cue = SkillCue(garden, plugins=[Policy(NAME)], cache=cache)
    shown = everything(cue)
    del shown["skill_load"], shown["skill_load id"]  # these repeat what was asked for
    assert [way for way, text in shown.items() if NAME in text] == []
    for name in (NAME, ID, "Tomato_Pruning"):
        with pytest.raises(SkillNotFoundError) as caught:
            cue.load(name)
        assert caught.value.closest == ()
        assert cue.tools().load(name).text == (
            f"Error: No skill is named {name!r}. Search for it with skill_lookup, or list the "
            "library with skill_list."
        )
    assert cue.advise(say(f"use {NAME}")).turn.explicit == ()


def test_the_policy_gets_the_run_time_values_of_every_way(garden):
    policy = Policy()
    cue = SkillCue(garden, plugins=[policy])
    run_context = {"user": "u1", "hide": [NAME]}
    shown = everything(cue, run_context=run_context)
    del shown["skill_load"], shown["skill_load id"]
    assert [way for way, text in shown.items() if NAME in text] == []
    assert all(context == run_context for context in policy.contexts)
    with pytest.raises(SkillNotFoundError):
        cue.load(NAME, run_context=run_context)
    assert cue.load(NAME).skill.name == NAME


@pytest.mark.parametrize("cache", [None, False])
def test_two_users_never_share_an_answer(garden, cache):
    cue = SkillCue(garden, plugins=[Policy()], cache=cache)
    one = {"run_context": {"hide": [NAME]}}
    for _ in range(2):  # the second time from caches and memos
        assert NAME not in everything(cue, **one)["advise"]
        assert NAME in everything(cue)["advise"]
        assert [h.skill.name for h in cue.lookup(TOMATO, **one).hits] != [
            h.skill.name for h in cue.lookup(TOMATO).hits
        ]


# failing closed


class Broken:
    """Answers what a policy must not answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Any:
        return self.answer() if callable(self.answer) else self.answer


def raising() -> Any:
    raise RuntimeError("policy server is down")


@pytest.mark.parametrize(
    "answer",
    [
        raising,
        True,
        "everything",
        Scope(3, lambda skill: True),  # type: ignore[arg-type]
        Scope(["a"], lambda skill: True),  # type: ignore[arg-type]
        Scope("k", True),  # type: ignore[arg-type]
        Scope("k", lambda skill: 1 / 0),
        Scope("k", lambda skill: "yes"),  # type: ignore[arg-type, return-value]
        Scope("k", lambda: True),  # type: ignore[arg-type]
    ],
    ids=lambda answer: steady(answer)[:40],
)
@pytest.mark.parametrize("others", [0, 1])
def test_a_policy_that_breaks_hides_everything(garden, answer, others):
    plugins = [Broken(answer), *[Policy()] * others]
    cue = SkillCue(garden, plugins=plugins)
    assert cue.list() == ()
    assert cue.lookup(TOMATO).hits == ()
    assert cue.advise(say(TOMATO)).decision == "abstain"
    assert cue.advise(say(f"use {NAME}")).decision == "abstain"
    assert cue.tools().load(NAME).error


def test_no_opinion_allows(garden):
    assert len(SkillCue(garden, plugins=[Broken(None)]).list()) == 8


def test_scopes_intersect_whatever_their_order(garden):
    one, two = Policy(NAME), Policy("bee-hotel")
    for plugins in ([one, two], [two, one]):
        names = [skill.name for skill in SkillCue(garden, plugins=plugins).list()]
        assert len(names) == 6 and not {NAME, "bee-hotel"} & set(names)
    both = key_of_scope(garden, [one, two])
    assert both == key_of_scope(garden, [one, two])
    assert len({both, key_of_scope(garden, [one]), key_of_scope(garden, [two])}) == 3


class ByTag:
    """Shows what has the tag that the run names for it; no opinion where the run names none."""

    def __init__(self, field: str) -> None:
        self.field = field

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Scope | None:
        value = context.get(self.field)
        tag = f"{self.field}-{value}"
        return None if value is None else Scope(str(value), lambda skill: tag in skill.tags)


@pytest.fixture
def two_by_two(tmp_path: Path) -> Path:
    for dept in ("north", "south"):
        for project in ("north", "south"):
            path = tmp_path / "library" / f"{dept}-of-{project}" / "SKILL.md"
            path.parent.mkdir(parents=True)
            header = f"name: {path.parent.name}\ndescription: Plan the {dept} and {project} work.\n"
            tags = f"tags: [dept-{dept}, project-{project}]\n"
            path.write_text(f"---\n{header}{tags}---\n\nPlan.\n", "utf-8")
    return tmp_path / "library"


def test_equal_keys_of_two_policies_are_not_mixed_up(two_by_two):
    """What one policy says under a key is nothing that another says under it."""
    cue = SkillCue(two_by_two, mode="bm25", plugins=[ByTag("dept"), ByTag("project")])
    runs = [
        ({"dept": "north", "project": "south"}, {"north-of-south"}),
        ({"dept": "south", "project": "north"}, {"south-of-north"}),
        ({"dept": "north"}, {"north-of-north", "north-of-south"}),
        ({"project": "north"}, {"north-of-north", "south-of-north"}),
    ]
    for run, expected in [*runs, *runs]:
        assert {skill.name for skill in cue.list(run_context=run)} == expected
        hits = cue.lookup("plan the work", k=9, run_context=run).hits
        assert {hit.skill.name for hit in hits} == expected


def test_folders_of_one_name_are_two_sources_to_a_policy(tmp_path):
    for side in ("north", "south"):
        path = tmp_path / side / "skills" / f"of-{side}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: of-{side}\ndescription: Plan {side}.\n---\nPlan.\n", "utf-8")

    class BySource:
        @hookimpl
        def skillcue_filter_skills(self, context: Any, library: Any) -> Scope:
            return Scope(context["source"], lambda skill: skill.source == context["source"])

    folders = [tmp_path / side / "skills" for side in ("north", "south")]
    cue = SkillCue(folders, mode="bm25", plugins=[BySource()])
    for source, name in (("skills", "of-north"), ("skills~2", "of-south")):
        assert [skill.name for skill in cue.list(run_context={"source": source})] == [name]


def test_a_hidden_copy_lends_its_names_to_nobody(tmp_path):
    for place in ("public/expenses", "secret/project-zebra"):
        path = tmp_path / place / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text("---\ndescription: Check expenses.\n---\n\nCheck.\n", "utf-8")
    (tmp_path / "secret/project-zebra/plan.md").write_text("The plan.", "utf-8")
    hidden = "project-zebra@secret/project-zebra"
    bare = SkillCue(tmp_path, mode="bm25")
    for name in ("project-zebra", hidden):  # without a policy every name of a text leads to it
        assert bare.load(name).skill.name == "expenses"

    class Public:
        @hookimpl
        def skillcue_filter_skills(self, context: Any, library: Any) -> Scope:
            return Scope("public", lambda skill: skill.category == "public")

    cue = SkillCue(tmp_path, mode="bm25", plugins=[Public()])
    (shown,) = cue.list()
    assert "zebra" not in str(shown)
    tools = cue.tools()
    for name in ("project-zebra", "Project_Zebra", hidden, "project-zebr"):
        answer = tools.load(name)
        assert answer.error and "closest" not in answer.text.casefold()
        assert answer.text.replace(name, "").count("zebra") == 0
    asked = cue.advise(say("Use the project-zebra skill for my expenses"))
    assert "zebra" not in str(asked.hits) + str(asked.rejected)


def key_of_scope(garden: Path, plugins: list[Any]) -> str:
    cue = SkillCue(garden, plugins=plugins)
    scope = cue.scope({}, cue.snapshot())
    assert scope is not None
    return scope.key


@pytest.mark.parametrize("cache", ["memory", "disk", "none"])
def test_a_policy_that_fails_for_a_moment_hides_for_that_moment_only(garden, tmp_path, cache):
    """What is kept under its key must not be what it could not answer."""
    policy = Policy(key="constant")
    store = {"memory": None, "disk": tmp_path / "cache", "none": False}[cache]
    cue = SkillCue(garden, plugins=[policy], cache=store)
    policy.error = lambda skill: RuntimeError("timeout") if skill.name == NAME else None
    shown = everything(cue)
    assert NAME not in shown["list"] + shown["lookup"] + shown["advise"] + shown["named"]
    assert "compost-heap" in shown["list"]  # it could answer on the others
    policy.error = lambda skill: None
    again = everything(cue)
    assert [way for way, text in again.items() if NAME not in text] == []


def test_a_failing_policy_is_logged_once_a_call_and_not_once_a_skill(garden, caplog):
    policy = Policy()
    cue = SkillCue(garden, plugins=[policy])
    policy.error = lambda skill: RuntimeError("timeout")
    assert cue.list() == ()
    assert caplog.text.count("RuntimeError: timeout") == 1


def test_a_policy_is_asked_once_for_each_key_and_library(garden):
    policy = Policy()
    cue = SkillCue(garden, plugins=[policy], recheck="always")
    everything(cue)
    everything(cue)
    assert policy.asked == 8
    (garden / "rain-gauge" / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\n")
    cue.list()
    assert policy.asked == 16


def test_a_retriever_that_forgets_the_scope_leaks_nothing(garden, caplog):
    class Forgetful:
        @hookimpl
        def skillcue_register_retrievers(self, register: Any) -> None:
            register("forgetful", self.build)

        def build(self, library: Library, context: Any) -> Any:
            skills = library.skills

            class Everything:
                fingerprint = "x"
                generation = library.generation

                def search(self, query: Query) -> Ranking:
                    hits = tuple(Hit(s, 1.0, i) for i, s in enumerate(skills, 1))
                    return Ranking(hits, "forgetful", total=len(hits))

            return Everything()

    cue = SkillCue(garden, mode="forgetful", plugins=[Forgetful(), Policy(NAME)])
    shown = everything(cue)
    assert NAME not in shown["lookup"] + shown["advise"] + shown["skill_lookup"]
    assert "does not keep to the scope" in caplog.text
    page = cue.lookup(TOMATO, k=3, offset=5)  # what is allowed is not lost, and counted alone
    assert ([hit.rank for hit in page.hits], page.total) == ([6, 7], 7)
    assert len(cue.lookup(TOMATO, k=7).hits) == 7


def test_an_error_that_names_skills_is_for_the_log_alone(garden, caplog):
    class Talkative:
        @hookimpl
        def skillcue_register_retrievers(self, register: Any) -> None:
            register("talkative", self.build)

        def build(self, library: Library, context: Any) -> Any:
            raise RuntimeError([skill.id for skill in library.skills])

    observer = Observer()
    cue = SkillCue(garden, mode="talkative", plugins=[Talkative(), Policy(NAME), observer])
    advice = cue.advise(say("plants"))
    answer = cue.tools().lookup("plants")
    assert advice.reason == "push failed: RuntimeError" and answer.error
    assert NAME not in f"{advice} {observer.advised} {answer}"
    assert NAME in caplog.text


class ByTenant(Policy):
    """Its keys name the tenant, whatever it answers."""

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Scope:
        return Scope(str(context.get("tenant")), lambda skill: skill.name not in self.hidden)


@pytest.mark.parametrize("cache", ["memory", "disk", "none"])
def test_what_was_kept_under_older_answers_is_not_found(garden, tmp_path, cache):
    """A key that says the same of other answers: by the contract it must not, and nothing leaks."""
    policy = ByTenant()
    store = {"memory": None, "disk": tmp_path / "cache", "none": False}[cache]
    cue = SkillCue(garden, mode="bm25", plugins=[policy], cache=store)
    tenant = {"run_context": {"tenant": "a"}}
    asked = [{"role": "user", "content": TOMATO, "id": "m1"}]
    more = [*asked, {"role": "assistant", "content": "Well"}, {**asked[0], "id": "m2"}]
    assert NAME in everything(cue, **tenant)["advise"] + cue.advise(asked, **tenant).text
    second = cue.lookup(TOMATO, k=1, offset=1, **tenant)  # a page without it, that counts it
    policy.hidden.add(NAME)
    for number in range(40):  # the first answers are forgotten, and the policy is asked again
        cue.list(run_context={"tenant": number})
    shown = everything(cue, **tenant)
    del shown["skill_load"], shown["skill_load id"]
    shown |= {"again": str(cue.advise(asked, **tenant)), "later": str(cue.advise(more, **tenant))}
    assert [way for way, text in shown.items() if NAME in text] == []
    assert cue.lookup(TOMATO, k=1, offset=1, **tenant).total == second.total - 1


@pytest.mark.parametrize("more", [{}, {"id": "m1"}], ids=["no id", "id"])
def test_advice_from_memory_names_no_candidate_that_is_hidden_now(garden, more):
    """Also one that was not offered, under a key that says the same of other answers."""
    policy = ByTenant()
    cue = SkillCue(garden, mode="bm25", plugins=[policy])
    tenant = {"run_context": {"tenant": "a"}}
    asked = [{**say(f"{TOMATO} and {COMPOST}")[0], **more}]
    first = cue.advise(asked, **tenant)
    assert cue.advise(asked, **tenant) is first
    left = next(r.hit.skill.name for r in first.rejected)
    assert left not in first.text
    policy.hidden.add(left)
    for number in range(40):  # the first answers are forgotten, and the policy is asked again
        cue.list(run_context={"tenant": number})
    again = cue.advise(asked, **tenant)
    assert again.hits and left not in str((again.hits, again.rejected, again.turn.visible_skills))


def test_the_id_of_a_copy_does_not_lead_to_a_hidden_skill():
    skill = Skill("plan@one", "plan", "The plan.", body="Falcon.", content_hash="same")
    sources = [StaticSource(n, [replace(skill, id=f"plan@{n}")]) for n in ("one", "two")]
    for hidden in ((), ("plan",)):
        with SkillCue(sources, mode="bm25", plugins=[Policy(*hidden)]) as cue:
            assert len(cue.snapshot().skills) == 1
            answer = cue.tools().load("plan@two")
            assert (answer.error, "Falcon" in answer.text) == (bool(hidden), not hidden)


def test_a_turn_does_not_name_what_others_loaded_in_its_thread(garden):
    cue = SkillCue(garden, mode="bm25", plugins=[Policy()])
    loaded = {"role": "tool", "tool_call_id": "c1", "content": cue.tools().load(NAME).text}
    call = {"id": "c1", "type": "function", "function": {"name": "skill_load", "arguments": "{}"}}
    asks = {"role": "assistant", "content": "", "tool_calls": [call]}
    thread = [*say(COMPOST), asks, loaded, {"role": "assistant", "content": "Done."}, *say("Why?")]
    for hide in ([], [NAME]):
        turn = cue.advise(thread, run_context={"hide": hide}).turn
        assert (ID in turn.visible_skills) is not bool(hide)


def test_a_bare_name_is_shown_where_what_else_has_it_is_hidden(tmp_path):
    for folder in ("one", "two"):
        path = tmp_path / folder / NAME / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"---\nname: {NAME}\ndescription: {TOMATO} {folder}.\n---\n\nDo.\n", "utf-8"
        )
    first, second = SkillCue(tmp_path).list()

    class HideFirst(Policy):
        def _allows(self, skill: Skill, hidden: set[str]) -> bool:
            return skill.id != first.id

    plain, hiding = SkillCue(tmp_path), SkillCue(tmp_path, plugins=[HideFirst()])
    assert f"- {second.id}: " in plain.tools().list().text
    for text in (hiding.tools().list().text, hiding.tools().lookup(TOMATO).text):
        assert f"{NAME}: {TOMATO} two." in text and "@" not in text
    offered = hiding.advise(say(f"use {NAME}")).text
    assert f'skill_load(name="{NAME}")' in offered and second.id not in offered


def test_skills_that_are_not_searched_are_under_the_policy_as_well(tmp_path):
    path = tmp_path / "secret" / "SKILL.md"
    path.parent.mkdir()
    header = "name: secret\ndescription: Not for the model.\ndisable-model-invocation: true\n"
    path.write_text(f"---\n{header}---\nBody\n", "utf-8")
    assert SkillCue(tmp_path).load("secret").skill.name == "secret"
    with pytest.raises(SkillNotFoundError):
        SkillCue(tmp_path, plugins=[Policy("secret")]).load("secret")


# observers


def test_observers_see_every_decision_lookup_and_load(garden):
    observer = Observer()
    cue = SkillCue(garden, plugins=[observer])
    cue.lookup(TOMATO)
    cue.lookup(TOMATO)
    cue.load(NAME)
    cue.advise(say(TOMATO))
    cue.advise(say(TOMATO))
    cue.advise(say("Thanks!"))
    assert [ranking.cached for _, ranking in observer.looked_up] == [False, True]
    assert [loaded.skill.name for loaded in observer.loaded] == [NAME]
    assert [advice.decision for advice in observer.advised] == ["offer", "abstain"]


def test_an_observer_that_raises_changes_nothing(garden, caplog):
    broken, healthy = Observer(RuntimeError("telemetry is down")), Observer()
    expected = everything(SkillCue(garden))
    assert everything(SkillCue(garden, plugins=[healthy, broken])) == expected
    assert healthy.advised and healthy.looked_up
    assert "Observer" in caplog.text and "telemetry is down" in caplog.text


# assessors


@pytest.mark.parametrize("error", [None, RuntimeError("scanner is down")])
def test_a_risky_skill_is_loadable_and_never_pushed(garden, error):
    assessor = Assessor(NAME, error=error)
    cue = SkillCue(garden, plugins=[assessor])
    shown = everything(cue)
    for way in ("advise", "named", "record"):
        assert NAME not in shown[way]
    for way in ("list", "lookup", "skill_load"):
        assert NAME in shown[way]
    assert cue.load(NAME).skill.trust == "untrusted"
    told = {r.hit.skill.name: r.reason for r in cue.advise(say(TOMATO)).rejected}
    assert told[NAME] == "untrusted skills are never pushed"
    code = "assessment-failed" if error else "test-risk"
    assert code in {diagnostic.code for diagnostic in cue.diagnostics}
    assert sorted(assessor.asked) == sorted({skill.name for skill in cue.list()})


# modes


def test_a_mode_policy_chooses_where_nobody_did(garden):
    modes, policy = CountingModes("fast"), ModePolicy("fast")
    cue = SkillCue(garden, plugins=[modes, policy])
    assert cue.lookup(TOMATO, context="before").mode == "fast"
    assert cue.lookup(TOMATO, mode="bm25").mode == "bm25"
    assert cue.advise(say(TOMATO)).mode == "fast"
    assert cue.advise(say(TOMATO), mode="bm25").mode == "bm25"
    [(lookup, *rest), (turn, *_)] = policy.turns
    assert rest == ["skillsight", 8]
    assert (lookup.user_text, lookup.context) == (TOMATO, "before")
    assert turn.user_text == TOMATO


@pytest.mark.parametrize("answer", [None, "", RuntimeError("no idea")])
def test_a_mode_policy_without_an_answer_leaves_the_default(garden, answer):
    cue = SkillCue(garden, plugins=[ModePolicy(answer)])
    assert cue.lookup(TOMATO).mode == cue.advise(say(TOMATO)).mode == "skillsight"


@pytest.mark.parametrize("answer", ["fsat", 3, ["bm25"]])
def test_a_mode_policy_with_an_unknown_mode_is_a_mistake_to_be_seen(garden, answer):
    cue = SkillCue(garden, plugins=[ModePolicy(answer)])
    for ask in (lambda: cue.lookup(TOMATO), lambda: cue.advise(say(TOMATO))):
        with pytest.raises(UnknownModeError, match="Available modes: bm25"):
            ask()


class Registers:
    def __init__(self, *names: Any, error: Exception | None = None) -> None:
        self.names = names
        self.error = error

    @hookimpl
    def skillcue_register_retrievers(self, register: Any) -> None:
        for name in self.names:
            register(name, "no.such.module:factory")
        if self.error:
            raise self.error


class AlsoRegisters(Registers):
    pass


def test_two_plugins_with_one_mode_are_an_error_that_names_both(garden):
    with pytest.raises(PluginError, match=r"'mine'.*Registers.*Registers"):
        SkillCue(garden, plugins=[Registers("mine"), AlsoRegisters("mine")])
    with pytest.raises(PluginError, match=r"'bm25'.*builtin|builtin.*'bm25'"):
        SkillCue(garden, plugins=[Registers("bm25")])


@pytest.mark.parametrize("plugin", [Registers(3), Registers(""), Registers(error=OSError("x"))])
def test_a_registration_that_fails_names_its_plugin(garden, plugin):
    with pytest.raises(PluginError, match="Registers"):
        SkillCue(garden, plugins=[plugin])


def test_a_mode_that_cannot_be_imported_says_so_when_it_is_used(garden):
    cue = SkillCue(garden, plugins=[Registers("mine")])
    assert "mine" in cue.modes
    for ask in (lambda: cue.lookup("x", mode="mine"), lambda: cue.advise(say("x"), mode="mine")):
        with pytest.raises(PluginError, match=r"no\.such\.module:factory.*cannot be imported"):
            ask()


# sources


class Database:
    """A source that is not a folder, and that changes."""

    label = "db"
    trust = "untrusted"

    def __init__(self) -> None:
        self.rows = {"row-one": "The first row about gardens."}

    def scan(self, previous: SourceScan | None) -> SourceScan:
        skills = tuple(
            Skill(f"{name}@{name}", name, text, source="db", trust="untrusted")
            for name, text in self.rows.items()
        )
        scan = SourceScan(skills, (), str(sorted(self.rows.items())))
        return previous if previous and previous.fingerprint == scan.fingerprint else scan

    def read_body(self, skill: Skill) -> str:
        return f"Body of {skill.name}."

    def base_dir(self, skill: Skill) -> Path | None:
        return None


class Opens:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.specs: list[str] = []

    @hookimpl
    def skillcue_open_source(self, spec: str) -> Any:
        self.specs.append(spec)
        return self.answer if spec.startswith("db://") else None


def test_a_plugin_opens_what_is_not_a_folder(garden):
    database = Database()
    opener = Opens(database)
    cue = SkillCue([garden, "db://server//skills"], plugins=[opener])
    assert opener.specs == ["db://server//skills"]
    assert cue.load("row-one").text == "Body of row-one."
    assert cue.lookup("first row").hits[0].skill.name == "row-one"
    assert cue.advise(say("use row-one")).decision == "abstain"  # untrusted
    database.rows["row-two"] = "A second row."
    assert "row-two" in [skill.name for skill in cue.list()]


def test_nobody_opens_it(garden):
    with pytest.raises(LibraryNotFoundError, match="svn:"):
        SkillCue("svn://server/skills", plugins=[Opens(Database())])
    with pytest.raises(ConfigurationError, match="must answer a SkillSource"):
        SkillCue("db://server", plugins=[Opens("text")])


def test_sources_of_every_kind_together(garden):
    in_memory = StaticSource("mine", [Skill("", "in-memory", "Kept in memory.")])
    cue = SkillCue([garden, str(garden / "bee-hotel"), in_memory, Database()])
    assert {"bee-hotel", "in-memory", "row-one"} < {skill.name for skill in cue.list()}
    assert len(cue.list()) == 10


# a skill inside the folder of another


class HideInner:
    @hookimpl
    def skillcue_filter_skills(self, context, library):
        if context.get("all"):
            return None
        return Scope("no-inner", lambda skill: skill.name != "inner")


@pytest.fixture
def nested(tmp_path):
    """Two sources, one inside a skill of the other; links lead into the inner one."""
    inner = tmp_path / "outer" / "parts" / "inner"
    inner.mkdir(parents=True)
    for folder, name in ((tmp_path / "outer", "outer"), (inner, "inner")):
        text = f"---\nname: {name}\ndescription: The {name} skill of the two.\n---\n\nBody.\n"
        (folder / "SKILL.md").write_text(text)
    (inner / "secret.txt").write_text("nobody knows")
    (tmp_path / "outer" / "open.txt").write_text("everybody knows")
    (tmp_path / "outer" / "link.txt").symlink_to(inner / "secret.txt")
    (tmp_path / "outer" / "alias").symlink_to(inner.parent)
    return [tmp_path / "outer", inner]


@pytest.mark.parametrize("order", [1, -1], ids=["outer first", "inner first"])
def test_files_of_a_hidden_skill_are_no_files_of_the_one_around_it(nested, order):
    with SkillCue(nested[::order], mode="bm25", plugins=[HideInner()]) as cue:
        assert cue.load("outer").files == ("open.txt",)
        assert cue.load("outer", "open.txt").text == "everybody knows"
        for name in ("secret.txt", "parts/inner/secret.txt", "link.txt", "alias/inner/secret.txt"):
            with pytest.raises(SkillFileError) as error:
                cue.load("outer", name)
            assert "inner" not in str(error.value).replace(repr(name), "")
        found = cue.load("outer", run_context={"all": True})
        assert "parts/inner/secret.txt" in found.files or "alias/inner/secret.txt" in found.files
        assert cue.load("inner", "secret.txt", run_context={"all": True}).text == "nobody knows"


def test_files_of_a_hidden_skill_of_a_source_that_is_no_folder_are_hidden(nested):
    """Of a plugin's source nobody knows where it lies, only where its skills do."""
    inner = FolderSource(nested[1])

    class Plain:
        label, trust = inner.label, inner.trust
        scan, read_body, base_dir = inner.scan, inner.read_body, inner.base_dir

    with SkillCue([nested[0], Plain()], mode="bm25", plugins=[HideInner()]) as cue:
        assert cue.load("outer").files == ("open.txt",)
        for name in ("parts/inner/secret.txt", "alias/inner/secret.txt", "link.txt"):
            with pytest.raises(SkillFileError):
                cue.load("outer", name)
        everybody = {"run_context": {"all": True}}
        assert cue.load("outer", "alias/inner/secret.txt", **everybody).text == "nobody knows"


def test_a_hidden_skill_around_another_closes_nothing_of_it(nested):
    class HideOuter:
        @hookimpl
        def skillcue_filter_skills(self, context, library):
            return Scope("no-outer", lambda skill: skill.name != "outer")

    (nested[1] / "copy.txt").symlink_to(nested[1] / "secret.txt")
    with SkillCue(nested, mode="bm25", plugins=[HideOuter()]) as cue:
        assert cue.load("inner").files == ("copy.txt", "secret.txt")


def test_files_beside_a_hidden_copy_are_hidden_as_well(nested, tmp_path):
    first = tmp_path / "first" / "inner"
    first.mkdir(parents=True)
    (first / "SKILL.md").write_bytes((nested[1] / "SKILL.md").read_bytes())
    with SkillCue([tmp_path / "first", *nested], mode="bm25", plugins=[HideInner()]) as cue:
        assert cue.load("outer").files == ("open.txt",)
        with pytest.raises(SkillFileError):
            cue.load("outer", "parts/inner/secret.txt")


def test_files_of_an_untrusted_skill_are_no_files_of_a_trusted_one_around_it(nested):
    (nested[1].parent / "loose.txt").write_text("beside the skills of its source")
    inside = FolderSource(nested[1].parent, trust="untrusted")
    with SkillCue([nested[0], inside], mode="bm25") as cue:
        assert cue.load("outer").files == ("open.txt",)
        assert cue.tools().load("inner", "secret.txt").text.count("| nobody knows") == 1


@pytest.mark.parametrize("order", [1, -1])
def test_one_file_in_two_sources_has_the_lower_trust(nested, order):
    inside = FolderSource(nested[1], trust="untrusted")
    around = FolderSource(nested[1].parent)
    with SkillCue([around, inside][::order], mode="bm25") as cue:
        assert [skill.trust for skill in cue.list()] == ["untrusted"]


@pytest.mark.parametrize("trust", ["trusted", "untrusted"])
def test_what_a_source_rejects_is_no_file_of_the_skill_around_it(nested, trust):
    (nested[1] / "SKILL.md").write_text("no front matter")
    inside = FolderSource(nested[1], trust=trust, strict=True)
    plugins = [HideInner()] if trust == "trusted" else []
    with SkillCue([nested[0], inside], mode="bm25", plugins=plugins) as cue:
        assert [skill.name for skill in cue.list()] == ["outer"]
        assert cue.load("outer").files == ("open.txt",)
