"""What stands in a trace, and above all what does not."""

from __future__ import annotations

import json
import subprocess
import sys

from skillcue import JudgeSettings, PushSettings, SkillCue
from skillcue.traces import TraceSettings, turn_ids
from skillcue.traces.outcomes import judge_turns
from skillcue.traces.reading import join_records, read_traces
from skillcue_hooks import hookimpl
from skillcue_hooks.testing import ScriptedLanguageModel

SECRET = "hunter2 Müller-Lüdenscheidt"
FORM = f"Fill in the visa form for {SECRET}, it is a PDF"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"


def user(text):
    return {"role": "user", "content": text}


def answer(text="done"):
    return {"role": "assistant", "content": text}


class Kept(list):
    def write(self, record):
        self.append(json.loads(json.dumps(record)))


def traced(example_skills, **options):
    sink = Kept()
    settings = options.pop("settings", sink)
    return SkillCue(example_skills, mode="bm25", traces=settings, **options), sink


def test_a_turn_whose_judge_failed_is_told_from_one_decided_on_less(example_skills):
    """The gate saw all there is, so such a turn is one that gates are fitted to."""
    judge = JudgeSettings(llm=ScriptedLanguageModel(["no"]), below=1, above=1)
    cue, sink = traced(example_skills, push=PushSettings(judge=judge))
    advice = cue.advise([user(FORM)])
    assert advice.degraded is not None and advice.degraded.startswith("not judged: ")
    [record] = sink
    assert (record["degraded"], record["unjudged"]) == (False, True)
    [judged] = judge_turns(join_records(sink), {record["turn"]: True})
    assert judged.need is True


def test_one_record_a_decided_turn_silence_included(example_skills):
    cue, sink = traced(example_skills)
    messages = [user(FORM)]
    advice = cue.advise(messages)
    cue.advise(messages)  # asked again: the turn is decided already, or decided the same
    cue.advise([*messages, answer(), user("thanks!")])
    turns = {record["turn"]: record for record in sink}
    assert len(turns) == 2
    first, second = turns.values()
    assert first == {
        "schema": 1,
        "kind": "turn",
        "turn": turn_ids(messages)[0],
        "mode": "bm25",
        "decision": "offer",
        "confidence": round(advice.confidence, 6),
        "threshold": round(advice.threshold, 6),
        "features": first["features"],
        "gate": first["gate"],
        "offered": [PDF_ID],
        "named": False,
        "candidates": len(advice.hits) + len(advice.rejected),
        "tokens": advice.tokens,
        "cost": {},
        "shadow": False,
        "degraded": False,
        "unjudged": False,
        "generation": cue.snapshot().generation,
        "elapsed_ms": first["elapsed_ms"],
    }
    assert (second["decision"], second["offered"]) == ("abstain", [])


def test_a_record_says_by_which_gate_and_in_which_units(example_skills):
    cue, sink = traced(example_skills)
    cue.advise([user(FORM)])
    cue.advise([user("zzzz qqqq")])  # nothing is found, and the gate not asked
    first, second = sink
    calibration = cue.fitted_gate("bm25", cue.snapshot()).calibration
    gate = first["gate"]
    assert (gate["signals"], gate["encoder"], gate["refitted"]) == ("lexical", "", False)
    assert gate["scale"].keys() == calibration.scale.keys()
    assert gate["foreign"] == round(calibration.foreign, 6)
    assert second["gate"] == {}


def test_no_word_of_the_conversation_is_recorded(example_skills):
    cue, sink = traced(example_skills)
    cue.advise([user(FORM), answer("secret answer"), user("and " + SECRET)])
    cue.tools().load("pdf-form-filling", messages=[user(FORM)])
    text = json.dumps(sink, ensure_ascii=False)
    assert len(sink) == 2
    for word in (*SECRET.split(), "visa", "secret answer"):
        assert word not in text


class Broken:
    @hookimpl
    def skillcue_register_retrievers(self, register):
        def factory(library, context):
            class Quoting:
                generation = library.generation

                def search(self, query):
                    raise ValueError(f"cannot search {query.text}")

            return Quoting()

        register("broken", factory)


def test_an_exception_that_quotes_the_user_is_no_leak(example_skills, caplog):
    sink = Kept()
    with SkillCue(example_skills, plugins=[Broken()], cache=False, traces=sink) as cue:
        assert SECRET not in cue.advise([user(FORM)], mode="broken").reason
    assert SECRET in caplog.text
    [record] = sink
    assert record["degraded"] is True
    assert SECRET not in json.dumps(record, ensure_ascii=False)


def test_text_is_recorded_when_it_is_asked_for(example_skills, tmp_path, lines):
    path = tmp_path / "traces.jsonl"
    cue, _ = traced(example_skills, settings=TraceSettings(path, text=True))
    with cue:
        cue.advise([user(FORM)])
    [record] = lines(path)
    assert record["text"] == FORM


def test_a_load_belongs_to_the_turn_of_its_conversation(example_skills):
    cue, sink = traced(example_skills)
    first, other = [user(FORM)], [user("Match the bank payments of March to our open invoices")]
    cue.advise(first)
    cue.advise(other)
    working = [*first, answer("let me look")]
    cue.tools().load("pdf-form-filling", messages=working)
    cue.tools().load("pdf-form-filling", file="SKILL.md", messages=working)  # a file: no record
    loads = [record for record in sink if record["kind"] == "load"]
    assert [(r["turn"], r["skill"]) for r in loads] == [(turn_ids(first)[0], PDF_ID)]


def test_a_program_that_loads_by_itself_loads_for_the_turn_it_asked_about(example_skills):
    cue, sink = traced(example_skills)
    messages = [user(FORM)]
    cue.advise(messages)
    cue.load("pdf-form-filling")
    cue.load("sourdough-baking")  # which was not offered: nobody knows what for
    loads = {record["skill"]: record["turn"] for record in sink if record["kind"] == "load"}
    assert loads[PDF_ID] == turn_ids(messages)[0]
    assert [turn for skill, turn in loads.items() if skill != PDF_ID] == [None]


def test_ids_are_the_same_in_every_process_and_follow_the_settings():
    messages = [user("one " * 500), answer(), user("two")]
    code = (
        "import json, sys; from skillcue.traces import turn_ids;"
        "print(json.dumps(turn_ids(json.loads(sys.argv[1]))))"
    )
    command = [sys.executable, "-c", code, json.dumps(messages)]
    there = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert tuple(there) == turn_ids(messages)
    assert len(set(there)) == 2
    other = turn_ids(messages, PushSettings(context_tokens=3))
    assert other[0] == there[0]
    assert other[1] != there[1]


def test_equal_words_after_different_words_are_different_turns():
    same = user("do it")
    ids = {turn_ids([user(text), answer(), same])[-1] for text in ("bake", "sew")}
    assert len(ids) == 2


def test_message_ids_tell_equal_conversations_apart():
    first, second = ({"role": "user", "content": "hello", "id": name} for name in ("a", "b"))
    assert turn_ids([first]) != turn_ids([second])
    moved = turn_ids([{"role": "system", "content": "x"}, first])
    assert moved == turn_ids([first])


def test_traces_are_read_back_with_what_was_loaded(example_skills, tmp_path):
    path = tmp_path / "traces.jsonl"
    messages = [user(FORM)]
    with SkillCue(example_skills, mode="bm25", traces=path) as cue:
        cue.advise(messages)
        cue.tools().load("pdf-form-filling", messages=messages)
        cue.advise([*messages, answer(), user("thanks!")])
    with path.open("a") as file:
        file.write('{"schema": 1, "kind": "tur')
    traces = read_traces(path)
    assert [turn.loaded for turn in traces.turns] == [frozenset({PDF_ID}), frozenset()]
    assert traces.turns[0].offered == (PDF_ID,)
    assert traces.loaded == {PDF_ID}
    assert traces.skipped == 1
