"""The log lines, and what all observers are told."""

from __future__ import annotations

import json
import logging

import pytest
from support.asking_mode import AskingModes

from skillcue import SkillCue
from skillcue.telemetry import LogEvents
from skillcue.telemetry.facts import session_hash
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

SECRET = "zanzibar"
PDF = f"I have to fill in a PDF form for my {SECRET} visa application"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"
RUN = {"thread_id": "thread-7", "api_key": "sk-1"}


def user(text):
    return [{"role": "user", "content": text}]


def everything(cue):
    """One decision that speaks, one that does not, two lookups and two loads."""
    cue.advise(user(PDF), run_context=RUN)
    cue.advise(user(f"thanks {SECRET}"), run_context=RUN)
    cue.lookup(f"pdf form {SECRET}", k=2, run_context=RUN)
    cue.lookup("qqqqqq zzzzzz", run_context=RUN)
    cue.load("pdf-form-filling", run_context=RUN)
    cue.load("pdf-form-filling", "scripts/fill_form.py", run_context=RUN)


@pytest.fixture
def records(caplog):
    caplog.set_level(logging.DEBUG, logger="skillcue.telemetry")
    return lambda: [r for r in caplog.records if r.name == "skillcue.telemetry"]


def fields(record):
    return {k: v for k, v in vars(record).items() if k.startswith(("skillcue_", "gen_ai", "error"))}


def test_one_line_an_event(example_skills, records):
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents()]) as cue:
        everything(cue)
    lines = [record.getMessage() for record in records()]
    assert [line.split(" ms")[0].rsplit(" ", 1)[0] for line in lines] == [
        f"advise: offer mode=bm25 skills={PDF_ID} tokens={fields(records()[0])['skillcue_tokens']}",
        "advise: abstain mode=bm25",
        "lookup: 2 of 18 mode=bm25 "
        + f"skills={','.join(fields(records()[2])['skillcue_skills'])} "
        + f"tokens={fields(records()[2])['skillcue_tokens']}",
        "lookup: 0 of 0 mode=bm25 miss=none",
        f"load: page 1 of 1 skills={PDF_ID} tokens={fields(records()[4])['skillcue_tokens']}",
        f"load: page 1 of 1 skills={PDF_ID} tokens={fields(records()[5])['skillcue_tokens']}",
    ]
    assert {record.levelno for record in records()} == {logging.INFO}


def test_the_fields_of_a_record(example_skills, records):
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents()], shadow=True) as cue:
        everything(cue)
    advised, silent, found, missed, loaded, beside = map(fields, records())
    assert advised == {
        "skillcue_event": "advise",
        "skillcue_session": session_hash(RUN),
        "skillcue_mode": "bm25",
        "skillcue_degraded": False,
        "skillcue_unjudged": False,
        "skillcue_decision": "offer",
        "skillcue_skills": (PDF_ID,),
        "skillcue_candidates": advised["skillcue_candidates"],
        "skillcue_confidence": advised["skillcue_confidence"],
        "skillcue_threshold": 0.95,
        "skillcue_tokens": advised["skillcue_tokens"],
        "skillcue_named": False,
        "skillcue_shadow": True,
        "skillcue_elapsed_ms": advised["skillcue_elapsed_ms"],
    }
    assert advised["skillcue_candidates"] > 1 and advised["skillcue_confidence"] > 0.95
    assert (silent["skillcue_decision"], silent["skillcue_skills"]) == ("abstain", ())
    assert (found["skillcue_k"], found["skillcue_total"], found["skillcue_cached"]) == (
        2,
        18,
        False,
    )
    assert "skillcue_miss" not in found and missed["skillcue_miss"] == "none"
    assert (loaded["skillcue_trust"], loaded["skillcue_page"]) == ("trusted", 1)
    assert "skillcue_file" not in loaded
    assert beside["skillcue_file"] == "scripts/fill_form.py"
    assert all(told["skillcue_elapsed_ms"] > 0 for told in map(fields, records()))


def test_nothing_that_anybody_wrote_unless_asked(example_skills, records):
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents()]) as cue:
        everything(cue)
    told = json.dumps([[r.getMessage(), fields(r)] for r in records()])
    assert SECRET not in told and "thread-7" not in told and "sk-1" not in told
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents(text=True)]) as cue:
        everything(cue)
    advised, _, found, *_ = [fields(r) for r in records()[6:]]
    assert (advised["skillcue_text"], found["skillcue_text"]) == (PDF, f"pdf form {SECRET}")
    assert advised["skillcue_reason"]
    assert SECRET not in json.dumps([r.getMessage() for r in records()])


def test_a_failure_is_told_by_its_kind_and_not_by_its_words(example_skills, records, monkeypatch):
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents()]) as cue:

        def fails(*_args, **_more):
            raise TimeoutError(f"no answer to {SECRET}")

        monkeypatch.setattr(cue, "search", fails)
        cue.advise(user(PDF))
    (record,) = records()
    assert fields(record)["error_type"] == "TimeoutError"
    assert "type=TimeoutError" in record.getMessage()
    assert SECRET not in json.dumps([record.getMessage(), fields(record)])


def test_a_query_without_a_word_in_the_library_is_a_weak_answer(example_skills, records):
    with SkillCue(example_skills, wait=True, plugins=[LogEvents()]) as cue:
        cue.lookup("pdf form")
        cue.lookup("xylophonist")
        cue.lookup("xylophonist", offset=5)
    misses = [fields(record).get("skillcue_miss") for record in records()]
    assert misses[1:] == ["weak", None]


def test_what_a_language_model_took(example_skills, records):
    model = ScriptedLanguageModel([Completion("x", usage=Usage(1, 700, 80, 0.25))])
    plugins = [AskingModes(), LogEvents()]
    with SkillCue(example_skills, mode="asks", llm=model, plugins=plugins) as cue:
        cue.lookup(PDF)
        cue.lookup(PDF)
    first, again = map(fields, records())
    assert first["skillcue_model_calls"] == 1
    assert first["gen_ai_usage_input_tokens"] == 700
    assert first["gen_ai_usage_output_tokens"] == 80
    assert first["skillcue_model_money"] == 0.25
    assert again["skillcue_cached"] and "skillcue_model_calls" not in again


def test_a_name_with_line_ends_stays_on_its_line(tmp_path, records):
    folder = tmp_path / "skills" / "x"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        '---\nname: "knit\\nINFO root forged"\ndescription: Knit a sock\n---\nDo.\n', "utf-8"
    )
    with SkillCue(tmp_path / "skills", mode="bm25", plugins=[LogEvents()]) as cue:
        cue.load(cue.list()[0].id)
        cue.lookup("knit a sock")
    assert len(records()) == 2
    assert all(len(record.getMessage().splitlines()) == 1 for record in records())


def test_the_level_is_the_operators(example_skills, caplog):
    caplog.set_level(logging.INFO, logger="skillcue.telemetry")
    with SkillCue(example_skills, mode="bm25", plugins=[LogEvents(level=logging.DEBUG)]) as cue:
        cue.load("pdf-form-filling")
    assert not [r for r in caplog.records if r.name == "skillcue.telemetry"]


@pytest.mark.parametrize("options", [{"text": 1}, {"level": "INFO"}])
def test_wrong_arguments(options):
    with pytest.raises(ConfigurationError):
        LogEvents(**options)


def test_sessions_are_told_apart_and_not_named():
    one = session_hash({"thread_id": "a"})
    assert one == session_hash({"thread_id": "a", "user": "x"}) != session_hash({"thread_id": "b"})
    assert session_hash({}) is None and session_hash({"thread_id": None}) is None
    assert session_hash({"session_id": "a"}) == one  # the first key that is there
    assert session_hash({"thread_id": 7}) == session_hash({"thread_id": "7"})
