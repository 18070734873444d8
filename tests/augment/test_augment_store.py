"""The store: by content and maker, damaged lines made again, one writer, killed and resumed."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.augmenting import answer, pdf_skill

from skillcue_adapters.augment.augmentation import Augmentation, augment_by_rules, content_key
from skillcue_adapters.augment.run import (
    GIVE_UP_AFTER,
    augment_missing,
    estimated_usage,
    missing,
)
from skillcue_adapters.augment.store import AugmentationStore
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError, LanguageModelError
from skillcue_hooks.testing import ScriptedLanguageModel, make_skill


def library(number: int = 4) -> list[Skill]:
    return [
        make_skill(f"skill-{n}", f"Merge kind {n} of file.", "## Merge it\n") for n in range(number)
    ]


def augment(folder: Path, skills: list[Skill], model: ScriptedLanguageModel | None = None) -> int:
    store = AugmentationStore(folder)
    return augment_missing(missing(skills, store, model), store, model).made


def stored(folder: Path, skill: Skill) -> Augmentation | None:
    return AugmentationStore(folder).best(content_key(skill))


def test_only_what_is_missing_or_changed_is_made(tmp_path: Path) -> None:
    skills = library()
    assert augment(tmp_path, skills) == 4
    assert augment(tmp_path, skills) == 0
    skills[2] = make_skill("skill-2", "Split kind 2 of file.", "## Split it\n")
    assert (
        augment(tmp_path, [*skills, make_skill("copy", "x"), make_skill("copy", "x", id="b")]) == 2
    )
    for skill in skills:
        assert stored(tmp_path, skill) == augment_by_rules(skill)


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0][: len(lines[0]) // 2]],
        lambda lines: [lines[0].replace(b"Merge it", b"Merge at")],
        lambda lines: [b"\x00\xff\xfe\n"],
        lambda lines: [b"\n"],
        lambda lines: [pickle.dumps(print)],
    ],
    ids=["cut", "changed", "binary", "blank", "pickle"],
)
def test_a_damaged_line_is_made_again(tmp_path: Path, damage, caplog) -> None:
    skills = library()
    augment(tmp_path, skills)
    path = AugmentationStore(tmp_path).path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[1:], *damage(lines)]))
    todo = missing(skills, AugmentationStore(tmp_path), None)
    assert len(todo.skills) >= 1
    assert augment(tmp_path, skills) == len(todo.skills)
    assert augment(tmp_path, skills) == 0
    assert all(stored(tmp_path, skill) == augment_by_rules(skill) for skill in skills)
    assert [record.message for record in caplog.records] == [
        f"{path} has 1 damaged line; `skillcue augment` makes anew what is missing"
    ]
    assert AugmentationStore(tmp_path).damaged == 0
    assert sorted(path.read_bytes().splitlines()) == sorted(b"".join(lines).splitlines())
    assert [item.name for item in path.parent.iterdir() if item.name != "lock"] == [path.name]


def test_damage_is_taken_out_although_nothing_is_missing(tmp_path: Path) -> None:
    skills = library()
    augment(tmp_path, skills)
    path = AugmentationStore(tmp_path).path
    whole = path.read_bytes()
    path.write_bytes(whole[:500].partition(b"\n")[0] + b"\x00" + b"\n" + whole + b"half a li")
    assert AugmentationStore(tmp_path).damaged == 2
    assert augment(tmp_path, skills) == 0
    assert path.read_bytes() == whole


def test_what_others_added_meanwhile_is_not_taken_out(tmp_path: Path) -> None:
    skills = library()
    augment(tmp_path, skills[:2])
    path = AugmentationStore(tmp_path).path
    path.write_bytes(b"damage\n" + path.read_bytes())
    late = AugmentationStore(tmp_path)
    augment(tmp_path, skills)
    path.write_bytes(b"damage\n" + path.read_bytes())
    with late.writing():
        pass
    assert AugmentationStore(tmp_path).damaged == 0
    assert all(stored(tmp_path, skill) is not None for skill in skills)


def test_reading_leaves_the_file_alone_and_warns_once(tmp_path: Path, caplog) -> None:
    augment(tmp_path, library())
    path = AugmentationStore(tmp_path).path
    path.write_bytes(path.read_bytes() + b"damage\n")
    before = path.read_bytes()
    for _ in range(3):
        assert AugmentationStore(tmp_path).damaged == 1
    assert len(caplog.records) == 1
    assert path.read_bytes() == before


def test_a_line_of_other_code_is_made_again(tmp_path: Path) -> None:
    store = AugmentationStore(tmp_path)
    (skill,) = library(1)
    with store.writing() as writer:
        writer.put(content_key(skill), "rules", augment_by_rules(skill))
    store.remember(content_key(skill), "rules", '{"tags": [], "colour": 1}')
    assert store.best(content_key(skill)) is None


def test_what_a_model_made_goes_before_the_rules_and_a_later_model_before_an_earlier(
    tmp_path: Path,
) -> None:
    skill = pdf_skill()
    later = answer(tags=["pdf", "split", "merge", "rotate"])
    for model, first in (
        (ScriptedLanguageModel([answer()]), "merge"),
        (None, "merge"),
        (ScriptedLanguageModel([later]), "split"),
    ):
        assert augment(tmp_path, [skill], model) == 1
        found = stored(tmp_path, skill)
        assert found is not None
        assert (found.maker, found.tags[1]) == ("model", first)


def test_a_model_that_failed_is_asked_again_and_the_rules_stand_in(tmp_path: Path) -> None:
    skill = pdf_skill()
    broken = ScriptedLanguageModel(["no", "no", answer()])
    store = AugmentationStore(tmp_path)
    outcome = augment_missing(missing([skill], store, broken), store, broken)
    assert outcome.fallbacks[0][0] == skill.id
    assert outcome.usage.calls == 2
    assert stored(tmp_path, skill) == augment_by_rules(skill), "no trace of the failure is kept"
    assert augment(tmp_path, [skill], broken) == 1
    found = stored(tmp_path, skill)
    assert found is not None
    assert found.maker == "model"
    assert augment(tmp_path, [skill], broken) == 0


def test_a_model_that_never_answers_is_given_up(tmp_path: Path) -> None:
    skills = library(40)
    model = ScriptedLanguageModel([LanguageModelError("out of reach")] * 40)
    store = AugmentationStore(tmp_path)
    outcome = augment_missing(missing(skills, store, model), store, model)
    assert (outcome.made, len(outcome.fallbacks)) == (40, 40)
    assert GIVE_UP_AFTER <= len(model.asked) < GIVE_UP_AFTER + 4, "those under way still ask"
    assert outcome.fallbacks == tuple(sorted(outcome.fallbacks))


def test_a_model_that_recovers_is_not_given_up(tmp_path: Path) -> None:
    skills = [pdf_skill(id=f"s{n}", path=Path(f"/s{n}")) for n in range(1)]
    skills += library(12)
    model = ScriptedLanguageModel([LanguageModelError("busy"), "no", "no"] * 13)
    store = AugmentationStore(tmp_path)
    outcome = augment_missing(missing(skills, store, model), store, model)
    assert "given up" not in " ".join(reason for _, reason in outcome.fallbacks)


def test_the_estimate_counts_every_prompt(tmp_path: Path) -> None:
    model = ScriptedLanguageModel([])
    store = AugmentationStore(tmp_path)
    one = estimated_usage(missing(library(1), store, model))
    four = estimated_usage(missing(library(4), store, model))
    assert one.input_tokens > 200
    assert (four.calls, four.input_tokens) == (4, 4 * one.input_tokens)
    assert four.estimated
    assert not model.asked


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    store = AugmentationStore(tmp_path)
    other = AugmentationStore(tmp_path)
    with (
        store.writing(),
        pytest.raises(ConfigurationError, match="Another process"),
        other.writing(),
    ):
        pytest.fail("two write")


def test_a_folder_that_cannot_be_written_is_an_error_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "augment").write_text("a file")
    with pytest.raises(ConfigurationError, match="--cache"):
        augment(tmp_path, library())


SLOW = """
import sys, time
from pathlib import Path
from skillcue_adapters.augment.run import augment_missing, missing
from skillcue_adapters.augment.store import AugmentationStore
from skillcue_hooks.testing import make_skill
skills = [make_skill(f"skill-{n}", f"Merge kind {n} of file.", "## Merge it\\n") for n in range(200)]
store = AugmentationStore(Path(sys.argv[1]))
todo = missing(skills, store, None)
print("todo", len(todo.skills), flush=True)
def done(number, total):
    print("done", number, flush=True)
    time.sleep(float(sys.argv[2]))
augment_missing(todo, store, None, done)
"""


def test_a_killed_process_keeps_what_it_made(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path), "0.01"], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line == "done 20\n":
            os.kill(child.pid, signal.SIGKILL)
            break
    child.stdout.close()
    assert child.wait(30) == -signal.SIGKILL
    again = subprocess.run(
        [sys.executable, "-c", SLOW, str(tmp_path), "0"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout.splitlines()  # fmt: skip
    todo = int(again[0].split()[1])
    assert 0 < todo <= 180
    assert again[-1] == f"done {todo}"
    assert AugmentationStore(tmp_path).damaged <= 1
    assert augment(tmp_path, library(200)) == 0
