"""Mode ``refine`` from outside: what is found, kept, made anew, loaded, shown and hidden."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.policies import Assessor, ModePolicy, Observer, Policy
from support.refining import (
    BODY,
    TASK,
    FixedModel,
    command,
    draft,
    finish,
    good_script,
    write_skills,
)

from skillcue import FolderSource, SkillCue
from skillcue.library.reader import Origin, read_skill
from skillcue_hooks import hookimpl
from skillcue_hooks.errors import (
    ConfigurationError,
    LanguageModelError,
    SkillNotFoundError,
    UnknownModeError,
    UnknownSettingError,
)

PDF = "pdf-tables@pdf-tables"
MERGE = "workbook-merge@workbook-merge"


def open_cue(source: Any, script: list[Any], **options: Any) -> tuple[SkillCue, FixedModel]:
    model = FixedModel(script)
    modes = {"refine": {"base": "bm25", **options.pop("refine", {})}}
    options.setdefault("mode", "bm25")
    return SkillCue(source, llm=model, modes=modes, **options), model


def user(*texts: str) -> list[dict[str, str]]:
    """A conversation with an answer between any two user messages."""
    messages: list[dict[str, str]] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}]
    return messages[:-1]


def test_a_task_is_refined_once(skills: Path) -> None:
    cue, model = open_cue(skills, good_script())
    with cue:
        ranking = cue.lookup(TASK, mode="refine")
        assert ranking.degraded is None
        assert ranking.mode == "refine"
        skill = ranking.hits[0].skill
        assert (skill.name, skill.trust, skill.pushable) == ("pdf-to-workbook", "trusted", True)
        assert skill.derived_from == (PDF, MERGE)
        assert (ranking.cost.calls, ranking.cost.input_tokens) == (4, 40)
        again = cue.lookup(TASK, mode="refine")
        assert again.hits == ranking.hits
        assert again.cached
        assert again.cost.calls == 0
    assert len(model.asked) == 4


def test_parents_make_room_for_what_was_made_of_them(skills: Path) -> None:
    cue, _ = open_cue(skills, good_script())
    with cue:
        base = cue.lookup(TASK, k=20)
        refined = cue.lookup(TASK, k=20, mode="refine")
        names = [hit.skill.name for hit in refined.hits]
        left = [h.skill.name for h in base.hits if h.skill.id not in (PDF, MERGE)]
        assert names == ["pdf-to-workbook", *left]
        assert refined.total == len(names)
        paged = [cue.lookup(TASK, k=1, offset=n, mode="refine").hits[0] for n in range(len(names))]
        assert paged == list(refined.hits)
        assert [hit.rank for hit in paged] == list(range(1, len(names) + 1))
        scores = [hit.score for hit in refined.hits]
        assert scores == sorted(scores, reverse=True)
        parent = next(hit for hit in base.hits if hit.skill.id == PDF)
        assert refined.hits[0].signals == parent.signals


def test_the_file_is_a_clean_skill_file(skills: Path, tmp_path: Path) -> None:
    awkward = draft(
        "x", PDF, description='A "quoted" \\ text: é \U0001f600 #', body="---\na: b\n---\n| x"
    )
    cue, _ = open_cue(
        skills, [command("detail", skill=PDF), finish(awkward)], cache=tmp_path / "cache"
    )
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        path = skill.path
        assert path.is_relative_to(tmp_path / "cache" / "refined")
        read = read_skill(path.read_bytes(), Origin(path, ".", path.parent.name))
        assert read.diagnostics == ()
        assert read.skill is not None
        assert read.skill.name == skill.name
        assert read.skill.description == skill.description == awkward["description"]
        assert read.skill.body == skill.body == cue.load(skill.id).text
        assert cue.load(skill.id).text.startswith(awkward["body"])


def test_it_survives_a_restart_and_asks_nobody(skills: Path, tmp_path: Path) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        first = cue.lookup(TASK, mode="refine")
    again, model = open_cue(skills, [AssertionError("asked")], cache=tmp_path / "cache")
    with again:
        loaded = again.load(first.hits[0].skill.id)  # before anything is looked up
        assert loaded.text.startswith(BODY.strip())
        assert loaded.skill == first.hits[0].skill
        second = again.lookup(TASK, mode="refine")
        assert second.hits == first.hits
        assert second.degraded is None
    assert model.asked == []


OTHER_PROCESS = """
import sys
sys.path[:0] = sys.argv[4].split(":")
from support.refining import FixedModel
from skillcue import SkillCue

with SkillCue(sys.argv[1], mode="bm25", cache=sys.argv[2]) as cue:  # no model at all
    print(cue.load(sys.argv[3]).text)
"""


def test_it_loads_in_another_process_without_a_model(skills: Path, tmp_path: Path) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        tests = str(Path(__file__).parents[1])
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                OTHER_PROCESS,
                str(skills),
                str(tmp_path / "cache"),
                skill.id,
                tests,
            ],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == cue.load(skill.id).text + "\n"


@pytest.mark.parametrize("cache", [False, None, "folder"])
def test_a_changed_skill_makes_it_run_again(skills: Path, tmp_path: Path, cache: Any) -> None:
    folder = tmp_path / "cache" if cache == "folder" else cache
    second = [command("detail", skill=PDF), finish(draft("newer", PDF))]
    cue, model = open_cue(skills, [*good_script(), *second], cache=folder)
    with cue:
        first = cue.lookup(TASK, mode="refine").hits[0].skill
        unread = skills / "sql-slow" / "SKILL.md"
        unread.write_text(unread.read_text() + "More.\n")
        cue.refresh()
        assert cue.lookup(TASK, mode="refine").hits[0].skill == first
        assert len(model.asked) == 4
        read = skills / "workbook-merge" / "SKILL.md"
        read.write_text(read.read_text() + "More.\n")
        cue.refresh()
        changed = cue.lookup(TASK, mode="refine")
        assert changed.hits[0].skill.name == "newer"
        assert changed.cost.calls == 2
        assert cue.load(first.id).skill.name == "pdf-to-workbook"  # records may still name it
    assert len(model.asked) == 6


def test_a_refined_skill_goes_with_its_parents(skills: Path, tmp_path: Path) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        (skills / "pdf-tables" / "SKILL.md").unlink()
        cue.refresh()
        with pytest.raises(SkillNotFoundError):
            cue.load(skill.id)


def test_what_was_written_is_never_overwritten_and_edits_are_refused(
    skills: Path, tmp_path: Path
) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
    path = skill.path
    edited = path.read_text().replace("Merge the sheets", "Delete the sheets")
    path.write_text(edited)
    again, model = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with again:
        with pytest.raises(SkillNotFoundError):
            again.load(skill.id)
        assert again.lookup(TASK, mode="refine").hits[0].skill.body == skill.body
        assert len(model.asked) == 4
    assert path.read_text() == edited


@pytest.mark.parametrize(
    "name",
    [
        "refined:",
        "refined:../../x",
        "refined:0123456789abcdef",
        "refined:" + "A" * 16,
        "refined:\0",
    ],
)
def test_ids_that_name_nothing(skills: Path, tmp_path: Path, name: str) -> None:
    cue, _ = open_cue(skills, [], cache=tmp_path / "cache")
    with cue, pytest.raises(SkillNotFoundError):
        cue.load(name)


@pytest.mark.parametrize("damage", ["{", "[]", '{"schema": 9}', '{"schema": 1}', "\xff"])
def test_a_damaged_entry_is_made_anew(skills: Path, tmp_path: Path, damage: str) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        first = cue.lookup(TASK, mode="refine")
    (entry,) = (tmp_path / "cache" / "refined" / "tasks").iterdir()
    entry.write_bytes(damage.encode("latin-1"))
    again, model = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with again:
        assert again.lookup(TASK, mode="refine").hits == first.hits
    assert len(model.asked) == 4


def test_a_cache_that_cannot_be_written_keeps_it_in_memory(skills: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "refined").write_text("in the way")
    cue, model = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert cue.load(skill.id).text.startswith(BODY.strip())
        cue.lookup(TASK, mode="refine")
    assert len(model.asked) == 4


@pytest.mark.parametrize(
    ("changes", "calls"),
    [({}, 4), ({"refine": {"body_chars": 9_000}}, 8), ({"refine": {"base": "hybrid"}}, 8)],
    ids=["same", "setting", "base"],
)
def test_settings_are_part_of_the_key(
    skills: Path, tmp_path: Path, changes: dict[str, Any], calls: int
) -> None:
    total = 0
    for more in ({}, changes):
        cue, model = open_cue(skills, good_script(), cache=tmp_path / "cache", **dict(more))
        with cue:
            cue.wait_ready()
            cue.lookup(TASK, mode="refine")
        total += len(model.asked)
    assert total == calls


def test_another_model_makes_it_anew(skills: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        cue, model = open_cue(skills, [], cache=tmp_path / "cache")
        model = FixedModel(good_script())
        model.fingerprint = name
        modes = {"refine": {"base": "bm25"}}
        cue = SkillCue(skills, mode="bm25", llm=model, modes=modes, cache=tmp_path / "cache")
        with cue:
            cue.lookup(TASK, mode="refine")
        assert len(model.asked) == 4


FAILURES: dict[str, tuple[list[Any], str]] = {
    "malformed": (["no", "no"], "malformed twice"),
    "refusal": ([LanguageModelError("Refused.")], "did not answer (Refused)"),
    "raises": ([RuntimeError("secret")], "RuntimeError"),
    "nothing": ([finish()], "found no skill"),
    "invented": ([command("keyword", query="x"), *[finish(draft("x", "a@b"))] * 2], "malformed"),
    "duplicates": (
        [command("detail", skill=PDF), *[finish(draft("x", body="1"), draft("x", body="2"))] * 2],
        "Two skills are named x",
    ),
}


@pytest.mark.parametrize(("script", "why"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure_leaves_the_base_ranking_and_says_why(
    skills: Path, tmp_path: Path, script: list[Any], why: str
) -> None:
    cue, model = open_cue(skills, [*script, *good_script()], cache=tmp_path / "cache")
    with cue:
        base = cue.lookup(TASK)
        ranking = cue.lookup(TASK, mode="refine")
        assert ranking.hits == base.hits
        assert ranking.degraded is not None
        assert ranking.degraded.startswith("not refined: ")
        assert why in ranking.degraded
        assert "secret" not in ranking.degraded
        asked = len(model.asked)
        again = cue.lookup(TASK, mode="refine")  # a task is tried once, whatever came of it
        assert again.degraded == ranking.degraded
        assert again.cost.calls == 0
        assert len(model.asked) == asked
        advice = cue.advise(user(TASK), mode="refine")
        assert advice.degraded is not None
        plain = cue.advise(user(TASK))
        assert (advice.text, advice.confidence) == (plain.text, plain.confidence)
        assert PDF in [hit.skill.id for hit in advice.hits]
    kept = (tmp_path / "cache" / "refined").rglob("*")
    assert not [path for path in kept if path.is_file()]  # no failure is stored


def test_a_failed_task_is_tried_again_after_a_while(skills: Path) -> None:
    cue, _ = open_cue(skills, ["no", "no", *good_script()], refine={"retry_s": 0.0})
    with cue:
        assert cue.lookup(TASK, mode="refine").degraded
        assert cue.lookup(TASK, mode="refine").degraded is None


def test_a_model_that_hangs_is_given_up(skills: Path) -> None:
    free = threading.Event()

    def hang(_messages: Any) -> str:
        free.wait(30)
        return finish()

    cue, _ = open_cue(skills, [hang], refine={"seconds": 0.2})
    with cue:
        started = time.monotonic()
        ranking = cue.lookup(TASK, mode="refine")
        assert time.monotonic() - started < 15
        assert ranking.degraded is not None
        assert "did not answer" in ranking.degraded
        free.set()


def test_without_a_model_it_is_a_mistake_before_anything_happens(skills: Path) -> None:
    with SkillCue(skills, mode="bm25") as cue:
        for ask in (
            lambda: cue.lookup(TASK, mode="refine"),
            lambda: cue.advise(user(TASK), mode="refine"),
            lambda: cue.check_mode("refine"),
            lambda: cue.refinement(TASK),
        ):
            with pytest.raises(ConfigurationError, match="llm=model"):
                ask()
    with pytest.raises(ConfigurationError, match="llm=model"):
        SkillCue(skills, mode="refine")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"comands": 3}, UnknownSettingError),
        ({"commands": 0}, ConfigurationError),
        ({"seconds": "60"}, ConfigurationError),
        ({"money": -1.0}, ConfigurationError),
        ({"skills": 4}, ConfigurationError),
        ({"base": "refine"}, ConfigurationError),
        ({"base": "nothing"}, UnknownModeError),
    ],
    ids=str,
)
def test_settings_are_checked(skills: Path, settings: dict[str, Any], error: type) -> None:
    cue, model = open_cue(skills, good_script(), refine=settings)
    with cue, pytest.raises(error):
        cue.lookup(TASK, mode="refine")
    assert model.asked == []


def test_threads_that_ask_at_once_share_one_refinement(skills: Path) -> None:
    def slowly(_messages: Any) -> str:
        time.sleep(0.05)
        return good_script()[0]

    cue, model = open_cue(skills, [slowly, *good_script()[1:]])
    found: list[Any] = []
    with cue:
        cue.lookup("warm up")
        threads = [
            threading.Thread(target=lambda: found.append(cue.lookup(TASK, mode="refine")))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(model.asked) == 4
    assert len({ranking.hits for ranking in found}) == 1
    assert sum(ranking.cost.calls for ranking in found) == 4


# trust and policies


def test_a_hidden_parent_hides_what_was_made_of_it(skills: Path, tmp_path: Path) -> None:
    second = [command("detail", skill=PDF), finish(draft("only-pdf", PDF))]
    policy = Policy()
    cue, model = open_cue(
        skills, [*good_script(), *second], cache=tmp_path / "cache", plugins=[policy]
    )
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert cue.load(skill.id).skill.id == skill.id
        hidden = {"hide": ["workbook-merge"]}
        with pytest.raises(SkillNotFoundError):
            cue.load(skill.id, run_context=hidden)
        other = cue.lookup(TASK, mode="refine", run_context=hidden)
        assert other.hits[0].skill.name == "only-pdf"  # made anew, of what may be seen
        assert MERGE not in [hit.skill.id for hit in other.hits]
        shown = cue.advise(user(TASK), mode="refine", run_context=hidden)
        assert skill.id not in [hit.skill.id for hit in shown.hits]
        assert len(model.asked) == 6
        assert cue.lookup(TASK, mode="refine").hits[0].skill == skill  # both stay
    assert len(model.asked) == 6


def test_a_refined_skill_has_the_flags_and_the_tools_of_what_it_was_made_of(skills: Path) -> None:
    for name, header in (
        ("pdf-tables", "allowed-tools: Read, Bash(pdftotext:*)\nuser-invocable: false\n"),
        ("workbook-merge", "allowed-tools: Read, Write\n"),
    ):
        path = skills / name / "SKILL.md"
        text = path.read_text("utf-8")
        path.write_text(text.replace("\n---\n", f"\n{header}---\n", 1), "utf-8")
    cue, _ = open_cue(skills, good_script())
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert skill.derived_from == (PDF, MERGE)
        assert skill.allowed_tools == ("Read", "Bash(pdftotext:*)", "Write")
        assert (skill.user_invocable, skill.pushable) == (False, True)
        assert cue.tools().load(skill.id).data["allowed_tools"] == list(skill.allowed_tools)


def test_a_refined_skill_is_not_pushed_where_a_parent_is_not_for_the_model(skills: Path) -> None:
    cue, _ = open_cue(skills, good_script())
    with cue:
        found = cue.lookup(TASK, mode="refine").hits[0].skill
        assert found.pushable
        path = skills / "workbook-merge" / "SKILL.md"
        text = path.read_text("utf-8")
        path.write_text(text.replace("\n---\n", "\ndisable-model-invocation: true\n---\n", 1))
        cue.refresh()
        assert not cue.load(found.id).skill.pushable


def test_what_was_only_read_counts_for_policies_and_trust_too(tmp_path: Path) -> None:
    good = write_skills(tmp_path / "good")
    odd = tmp_path / "odd" / "odd-pdf"
    odd.mkdir(parents=True)
    (odd / "SKILL.md").write_text("---\nname: odd-pdf\ndescription: Odd pdf tables.\n---\nSay X.\n")
    script = [
        command("detail", skill="odd-pdf@odd-pdf"),
        command("detail", skill=PDF),
        finish(draft("laundered", PDF)),  # it was told to name the trusted one only
    ]
    policy = Policy()
    sources = [FolderSource(good), FolderSource(tmp_path / "odd", trust="untrusted")]
    cue, _ = open_cue(sources, script, plugins=[policy])
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert skill.derived_from == (PDF,)
        assert skill.trust == "untrusted"
        assert skill.id not in [hit.skill.id for hit in cue.advise(user(TASK), mode="refine").hits]
        with pytest.raises(SkillNotFoundError):
            cue.load(skill.id, run_context={"hide": ["odd-pdf"]})


SEARCHING = [
    command("keyword", query="pdf tables workbook"),
    command("detail", skill=PDF),
    finish(draft("laundered", PDF)),
]
"""Shows the name and the description of a skill that is not read."""


def test_what_a_search_showed_counts_for_policies_too(skills: Path, tmp_path: Path) -> None:
    """The text may repeat the description of a skill that was only in a list."""
    hidden = {"hide": ["workbook-merge"]}
    cue, _ = open_cue(skills, SEARCHING, cache=tmp_path / "cache", plugins=[Policy()])
    with cue:
        found = cue.lookup(TASK, mode="refine").hits[0].skill
        assert found.derived_from == (PDF,)
        ask = [{**user(TASK)[0], "id": "m1"}]
        records = cue.advisor("skill_load").plan(ask, mode="refine").records
        assert found.id in records["m1"]
    for cache in (cue, open_cue(skills, [], cache=tmp_path / "cache", plugins=[Policy()])[0]):
        assert cache.load(found.id, run_context={"hide": ["mail-reply"]}).skill.id == found.id
        assert cache.tools().load(found.id, run_context=hidden).error
        plan = cache.advisor("skill_load").plan(ask, records=records, run_context=hidden)
        assert plan.placements == () and found.id not in str(plan.advice)
    (skills / "workbook-merge" / "SKILL.md").unlink()  # nobody is kept from what is not there
    with open_cue(skills, [], cache=tmp_path / "cache", plugins=[Policy()])[0] as later:
        assert later.load(found.id, run_context=hidden).skill.id == found.id
        plan = later.advisor("skill_load").plan(ask, records=records, run_context=hidden)
        assert len(plan.placements) == 1


def test_steps_under_older_answers_of_a_policy_are_not_shown(skills: Path, tmp_path: Path) -> None:
    """A key that says the same of other answers: by the contract it must not, and nothing leaks."""
    for hidden in ([], ["workbook-merge"]):
        policy = Policy(*hidden, key="constant")
        cue, model = open_cue(skills, SEARCHING, cache=tmp_path / "cache", plugins=[policy])
        with cue:
            for cached in (False, True):
                made = cue.refinement(TASK)
                assert made.cached is cached and made.skills
                assert ("workbook-merge" in str(made.steps)) is not bool(hidden)
        assert len(model.asked) == 3


@pytest.mark.parametrize("policy", [False, True], ids=["no policy", "policy"])
def test_a_refined_skill_goes_with_what_was_only_read_for_it(
    skills: Path, tmp_path: Path, policy: bool
) -> None:
    script = [
        command("detail", skill="sql-slow@sql-slow"),
        command("detail", skill=PDF),
        finish(draft("laundered", PDF)),
    ]
    plugins = [Policy()] if policy else []
    context = {"hide": ["mail-reply"]} if policy else None
    cue, _ = open_cue(skills, script, cache=tmp_path / "cache", plugins=plugins)
    with cue:
        skill = cue.lookup(TASK, mode="refine", run_context=context).hits[0].skill
        assert cue.load(skill.id, run_context=context).skill.name == "laundered"
        (skills / "mail-reply" / "SKILL.md").unlink()  # nobody read it
        cue.refresh()
        assert cue.load(skill.id, run_context=context).skill.name == "laundered"
        (skills / "sql-slow" / "SKILL.md").unlink()
        cue.refresh()
        for name in (skill.id, "laundered"):
            with pytest.raises(SkillNotFoundError):
                cue.load(name, run_context=context)
    other, _ = open_cue(skills, [], cache=tmp_path / "cache")
    with other, pytest.raises(SkillNotFoundError):
        other.load(skill.id)


def test_trust_follows_the_library(skills: Path, tmp_path: Path) -> None:
    cue, _ = open_cue(skills, good_script(), cache=tmp_path / "cache")
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert skill.trust == "trusted"
    cue, _ = open_cue(skills, [], cache=tmp_path / "cache", plugins=[Assessor("workbook-merge")])
    with cue:
        found = cue.lookup(TASK, mode="refine").hits[0].skill
        assert (found.id, found.trust, found.pushable) == (skill.id, "untrusted", False)
        assert cue.load(skill.id).skill.trust == "untrusted"


def test_a_refined_skill_is_assessed_once_like_any_other(skills: Path) -> None:
    assessor = Assessor("pdf-to-workbook")
    cue, _ = open_cue(skills, good_script(), plugins=[assessor])
    with cue:
        skill = cue.lookup(TASK, mode="refine").hits[0].skill
        assert (skill.trust, skill.pushable) == ("untrusted", False)
        cue.load(skill.id)
        assert assessor.asked.count("pdf-to-workbook") == 1
        advice = cue.advise(user(TASK), mode="refine")
        assert skill.id not in [hit.skill.id for hit in advice.hits]


def test_nobody_gets_past_a_policy_with_an_id_of_that_kind(tmp_path: Path) -> None:
    """A source of a stranger may give its skills any id and any parents."""
    from skillcue import StaticSource
    from skillcue_hooks import Skill

    forged = Skill("refined:0123456789abcdef", "forged", "Forged.", "Body.", derived_from=(PDF,))
    policy = Policy("forged")
    source = [write_skills(tmp_path / "skills"), StaticSource("made", [forged])]
    with SkillCue(source, mode="bm25", plugins=[policy]) as cue:
        with pytest.raises(SkillNotFoundError):
            cue.load(forged.id)
        assert cue.lookup("forged body").hits == ()


# push


def test_push_offers_it_and_says_what_it_took(skills: Path) -> None:
    observer = Observer()
    cue, _ = open_cue(skills, good_script(), plugins=[observer])
    with cue:
        advice = cue.advise(user(TASK), mode="refine")
        assert advice.decision == "offer"
        assert [hit.skill.name for hit in advice.hits] == ["pdf-to-workbook"]
        assert f'skill_load(name="{advice.hits[0].skill.id}")' in advice.text
        assert advice.cost.calls == 4
        assert observer.advised == [advice]


def test_followups_use_it_where_it_fits_and_ask_nobody(skills: Path) -> None:
    cue, model = open_cue(skills, good_script())
    with cue:
        cue.advise(user(TASK), mode="refine")
        other = cue.advise(user(TASK, "Now write release notes from the commits"), mode="refine")
        assert [hit.skill.name for hit in other.hits] == ["release-notes"]
        assert other.degraded is None
        again = cue.lookup("merge sheets into a workbook", mode="refine", task=TASK)
        assert again.hits[0].skill.name == "pdf-to-workbook"
        off = cue.lookup("slow database queries", mode="refine", task=TASK)
        assert [hit.skill.name for hit in off.hits] == ["sql-slow"]
    assert len(model.asked) == 4


def test_equal_words_in_two_threads_are_two_questions(skills: Path) -> None:
    other = [command("detail", skill="sql-slow@sql-slow"), finish(draft("x", "sql-slow@sql-slow"))]
    cue, _ = open_cue(skills, [*other, *good_script()])
    words = "merge sheets into a workbook"
    with cue:
        first = cue.lookup(words, mode="refine", task="Find slow database queries")
        assert "pdf-to-workbook" not in [hit.skill.name for hit in first.hits]
        second = cue.lookup(words, mode="refine", task=TASK)
        assert second.hits[0].skill.name == "pdf-to-workbook"


def test_a_turn_worked_out_in_a_fresh_process_is_the_same(skills: Path, tmp_path: Path) -> None:
    talk = user(TASK, "And merge the sheets into a workbook with one tab a month")
    texts = []
    for script in (good_script(), [AssertionError("asked")]):
        cue, _ = open_cue(skills, script, cache=tmp_path / "cache")
        with cue:
            texts.append(cue.advisor("skill_load").plan(talk, mode="refine").placements)
    assert texts[0] == texts[1]
    assert "pdf-to-workbook" in texts[0][0][1]


def test_a_named_task_is_refined_by_its_name(skills: Path) -> None:
    second = [
        command("detail", skill="sql-slow@sql-slow"),
        finish(draft("sql-tuning", "sql-slow@sql-slow")),
    ]
    cue, model = open_cue(skills, [*good_script(), *good_script(), *second])
    with cue:
        first = cue.lookup(TASK, mode="refine", run_context={"task_id": "a"})
        same = cue.lookup("Merge the sheets", mode="refine", run_context={"task_id": "a"})
        assert same.hits[0].skill == first.hits[0].skill
        assert len(model.asked) == 4
        talk = user(TASK, "Find the slow database queries of the report server")
        other = cue.advise(talk, mode="refine", run_context={"task_id": "b"})
        assert "sql-tuning" in [hit.skill.name for hit in other.hits]
        assert len(model.asked) == 10  # the first turn has no name here and is its own task
        told = model.asked[8][1].text
        assert "slow database queries" in told
        assert "quarterly" not in told


def test_equal_words_of_two_named_tasks_are_two_decisions(skills: Path) -> None:
    cue, model = open_cue(skills, [*good_script(), *good_script()], mode="refine")
    with cue:
        for task_id in ("a", "b", "a"):
            cue.advise(user(TASK), run_context={"task_id": task_id})
    assert len(model.asked) == 2 * len(good_script())


def test_the_gate_is_fitted_without_the_model(skills: Path) -> None:
    cue, model = open_cue(skills, good_script(), mode="refine")
    with cue:
        assert cue.wait_ready()
        assert model.asked == []
        assert cue.advise(user("thanks, that was all")).decision == "abstain"


def test_filters_are_answered_by_the_base(skills: Path) -> None:
    cue, model = open_cue(skills, [])
    with cue:
        found = cue.lookup(TASK, mode="refine", filters={"trust": "trusted"})
        assert found.mode == "refine"
        assert found.degraded is None
    assert model.asked == []


class LongTasksOnLargePools:
    """Refine only what is worth it."""

    @hookimpl
    def skillcue_select_mode(self, turn: Any, default: str, library_size: int) -> str | None:
        return "refine" if library_size > 3 and len(turn.task) > 60 else None


def test_a_policy_may_choose_it_by_the_task(skills: Path) -> None:
    cue, model = open_cue(skills, good_script(), plugins=[LongTasksOnLargePools()])
    with cue:
        assert cue.advise(user("Extract pdf tables")).mode == "bm25"
        assert cue.advise(user(TASK)).mode == "refine"
        assert cue.advise(user(TASK, "Go on with the workbook")).mode == "refine"
        assert cue.lookup("pdf tables").mode == "bm25"
    assert len(model.asked) == 4


def test_the_policy_sees_task_and_name(skills: Path) -> None:
    policy = ModePolicy(None)
    with SkillCue(skills, mode="bm25", plugins=[policy]) as cue:
        cue.advise(user(TASK, "Go on"), run_context={"task_id": 7})
        cue.advise(user(TASK, "Go on then"))
        cue.lookup("pdf", task=TASK)
    seen = [(turn.user_text, turn.task, turn.task_id) for turn, _, _ in policy.turns]
    assert ("Go on", "Go on", "7") in seen
    assert ("Go on then", TASK, "") in seen
    assert seen[-1] == ("pdf", TASK, "")


def test_steps_of_a_refinement(skills: Path) -> None:
    cue, _ = open_cue(skills, good_script())
    with cue:
        made = cue.refinement(TASK)
        assert [step.command for step in made.steps] == ["keyword", "detail", "detail", "finish"]
        assert made.skills[0].trust == "trusted"
        assert not made.cached
        assert cue.refinement(TASK).cached
        assert cue.lookup(TASK, mode="refine").hits[0].skill == made.skills[0]
