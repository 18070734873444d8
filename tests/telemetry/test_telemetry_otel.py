"""OpenTelemetry: the real SDK with its in-memory exporters, in real agents."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from support.asking_mode import AskingModes

from skillcue import SkillCue
from skillcue.telemetry import OpenTelemetry
from skillcue.telemetry.facts import session_hash
from skillcue_hooks.errors import ConfigurationError, MissingExtraError
from skillcue_hooks.language import Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

SECRET = "zanzibar"
PDF = f"I have to fill in a PDF form for my {SECRET} visa application"
PDF_ID = "pdf-form-filling@office/pdf-form-filling"


def user(text):
    return [{"role": "user", "content": text}]


class Watched:
    """An SDK of its own, its plugin, and what it was told."""

    def __init__(self, **options):
        self.exporter = InMemorySpanExporter()
        traces = TracerProvider()
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        metrics = MeterProvider([self.reader])
        self.tracer = traces.get_tracer("the application")
        self.plugin = OpenTelemetry(tracer_provider=traces, meter_provider=metrics, **options)

    def spans(self, *names):
        return [s for s in self.exporter.get_finished_spans() if not names or s.name in names]

    def points(self, name):
        data = self.reader.get_metrics_data()
        return {
            tuple(sorted(point.attributes.items())): point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def cue(example_skills, watched):
    with SkillCue(example_skills, mode="bm25", plugins=[watched.plugin]) as cue:
        yield cue


def test_spans_are_children_of_the_current_one(cue, watched):
    with watched.tracer.start_as_current_span("request") as request:
        cue.advise(user(PDF), run_context={"thread_id": "t"})
        cue.lookup("pdf form", k=2)
        cue.load("pdf-form-filling")
    cue.load("pdf-form-filling")
    *inside, parent, outside = watched.spans()
    assert [span.name for span in inside] == ["skillcue.advise", "skillcue.lookup", "skillcue.load"]
    assert {span.parent.span_id for span in inside} == {request.get_span_context().span_id}
    assert outside.parent is None
    for span in inside:  # true times: inside of what contains them, in order
        assert parent.start_time <= span.start_time < span.end_time <= parent.end_time
    assert inside[0].end_time <= inside[1].end_time <= inside[2].end_time
    assert {span.instrumentation_scope.name for span in inside} == {"skillcue"}


def test_a_span_lasts_as_long_as_the_work(cue, watched, monkeypatch):
    search = cue.search

    def slow(*args, **more):
        threading.Event().wait(0.2)
        return search(*args, **more)

    monkeypatch.setattr(cue, "search", slow)
    cue.advise(user(PDF))
    (span,) = watched.spans("skillcue.advise")
    assert span.end_time - span.start_time >= 200_000_000


def test_attributes(cue, watched):
    advice = cue.advise(user(PDF), run_context={"thread_id": "t"})
    ranking = cue.lookup("pdf form", k=2)
    cue.load("pdf-form-filling", "scripts/fill_form.py")
    advised, found, loaded = (dict(span.attributes) for span in watched.spans())
    assert advised == {
        "skillcue.session": session_hash({"thread_id": "t"}),
        "skillcue.mode": "bm25",
        "skillcue.degraded": False,
        "skillcue.unjudged": False,
        "skillcue.decision": "offer",
        "skillcue.skills": (PDF_ID,),
        "skillcue.candidates": len(advice.hits) + len(advice.rejected),
        "skillcue.confidence": round(advice.confidence, 6),
        "skillcue.threshold": 0.95,
        "skillcue.tokens": advice.tokens,
        "skillcue.named": False,
        "skillcue.shadow": False,
    }
    assert found["skillcue.skills"] == tuple(hit.skill.id for hit in ranking.hits)
    assert (found["skillcue.k"], found["skillcue.offset"], found["skillcue.total"]) == (2, 0, 18)
    assert loaded["skillcue.file"] == "scripts/fill_form.py"
    assert loaded["skillcue.trust"] == "trusted"


def test_a_failure_is_an_error_and_the_turn_goes_on(cue, watched, monkeypatch):
    def fails(*_args, **_more):
        raise TimeoutError(SECRET)

    monkeypatch.setattr(cue, "search", fails)
    assert cue.advise(user(PDF)).decision == "abstain"
    (span,) = watched.spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "TimeoutError")
    assert span.attributes["error.type"] == "TimeoutError"
    assert SECRET not in span.to_json()
    (point,) = watched.points("skillcue.advise.decisions")
    assert dict(point)["error.type"] == "TimeoutError"


def test_a_library_that_cannot_be_read_is_seen(cue, watched, monkeypatch):
    def fails():
        raise OSError(SECRET)

    monkeypatch.setattr(cue, "snapshot", fails)
    for _ in range(2):
        assert cue.advise(user(PDF), run_context={"thread_id": "t"}).decision == "abstain"
    failed, _again = watched.spans("skillcue.advise")
    assert failed.attributes["error.type"] == "OSError"
    assert failed.attributes["skillcue.session"] == session_hash({"thread_id": "t"})
    (point,) = watched.points("skillcue.advise.decisions").values()
    assert point.value == 2


def test_other_spans_have_no_status(cue, watched):
    cue.advise(user(PDF))
    assert watched.spans()[0].status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("text", [False, True])
def test_words_only_where_asked(example_skills, text):
    watched = Watched(text=text)
    with SkillCue(example_skills, mode="bm25", plugins=[watched.plugin]) as cue:
        cue.advise(user(PDF))
        cue.lookup(f"pdf {SECRET}")
    seen = [SECRET in span.to_json() for span in watched.spans()]
    assert seen == [text, text]
    assert SECRET not in watched.reader.get_metrics_data().to_json()


def test_metrics(cue, watched):
    advice = cue.advise(user(PDF))
    cue.advise(user("thanks a lot"))
    cue.lookup("pdf form")
    cue.lookup("pdf form")
    cue.lookup("qqqqqq zzzzzz")
    cue.load("pdf-form-filling")
    decisions = {
        dict(key)["skillcue.decision"]: point.value
        for key, point in watched.points("skillcue.advise.decisions").items()
    }
    assert decisions == {"offer": 1, "abstain": 1}
    lookups = {
        dict(key)["skillcue.miss"]: point.value
        for key, point in watched.points("skillcue.lookup.count").items()
    }
    assert lookups == {"no": 2, "none": 1}
    cached = {
        dict(key)["skillcue.cached"]: point.count
        for key, point in watched.points("skillcue.lookup.duration").items()
    }
    assert cached == {False: 2, True: 1}
    (loads,) = watched.points("skillcue.load.count").items()
    assert (dict(loads[0]), loads[1].value) == ({"skillcue.trust": "trusted"}, 1)
    (tokens,) = watched.points("skillcue.advise.tokens").values()
    assert (tokens.count, tokens.sum) == (1, advice.tokens)
    for name in ("advise", "lookup", "load"):
        points = watched.points(f"skillcue.{name}.duration").values()
        assert all(0 < point.sum < 60 and 0.001 in point.explicit_bounds for point in points)
    assert not watched.points("skillcue.model.calls")


def test_no_metric_has_an_attribute_with_many_values(cue, watched):
    everything = [user(PDF), user("thanks")]
    for messages in everything:
        cue.advise(messages, run_context={"thread_id": "t"})
    cue.lookup("pdf form")
    cue.load("pdf-form-filling")
    named = {
        attribute
        for resource in watched.reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
        for attribute in point.attributes
    }
    assert named == {
        "skillcue.mode",
        "skillcue.decision",
        "skillcue.shadow",
        "skillcue.miss",
        "skillcue.cached",
        "skillcue.trust",
    }


def test_what_language_models_took(example_skills, watched):
    model = ScriptedLanguageModel([Completion("x", usage=Usage(1, 700, 80, 0.25))] * 2)
    plugins = [AskingModes(), watched.plugin]
    with SkillCue(example_skills, mode="asks", llm=model, plugins=plugins) as cue:
        cue.advise(user(PDF))
        cue.lookup("rules for another visa")
    mode = ("skillcue.mode", "asks")
    assert watched.points("skillcue.model.calls")[(mode,)].value == 2
    assert watched.points("skillcue.model.money")[(mode,)].value == 0.5
    used = watched.points("skillcue.model.tokens")
    assert used[(("gen_ai.token.type", "input"), mode)].value == 1400
    assert used[(("gen_ai.token.type", "output"), mode)].value == 160
    span = watched.spans("skillcue.advise")[0]
    assert span.attributes["gen_ai.usage.input_tokens"] == 700
    assert span.attributes["skillcue.model.money"] == 0.25


def test_shadow_is_told_apart(example_skills, watched):
    with SkillCue(example_skills, mode="bm25", plugins=[watched.plugin], shadow=True) as cue:
        cue.advisor("skill_load").plan(user(PDF))
    assert watched.spans()[0].attributes["skillcue.shadow"] is True
    (key,) = watched.points("skillcue.advise.decisions")
    assert dict(key)["skillcue.shadow"] is True


def test_threads_keep_their_parents(cue, watched):
    wrong = []

    def work(number):
        with watched.tracer.start_as_current_span(f"request {number}") as request:
            for _ in range(5):
                cue.load("pdf-form-filling", run_context={"thread_id": number})
            mine = request.get_span_context().span_id
            told = [
                span.parent.span_id
                for span in watched.spans("skillcue.load")
                if span.attributes["skillcue.session"] == session_hash({"thread_id": number})
            ]
            if told != [mine] * 5:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(watched.spans("skillcue.load")) == 40


async def test_asynchronous_calls_keep_their_parents(cue, watched):
    async def work(number):
        with watched.tracer.start_as_current_span(f"request {number}") as request:
            run = {"thread_id": number}
            await cue.alookup(f"pdf form {number}", run_context=run)
            await cue.aload("pdf-form-filling", run_context=run)
            return session_hash(run), request.get_span_context().span_id

    parents = dict(await asyncio.gather(*(work(number) for number in range(8))))
    spans = watched.spans("skillcue.lookup", "skillcue.load")
    assert len(spans) == 16
    assert all(
        span.parent.span_id == parents[span.attributes["skillcue.session"]] for span in spans
    )


LOAD = {"name": "pdf-form-filling"}


def _langchain(cue):
    pytest.importorskip("langgraph")
    from langchain.agents import create_agent
    from support.langchain_models import StrictChatModel, call

    from skillcue.langchain import SkillMiddleware

    script = [call("skill_lookup", query="pdf form"), call("skill_load", **LOAD), "filled"]
    return create_agent(StrictChatModel(script=script), tools=[], middleware=[SkillMiddleware(cue)])


AGENT_SPANS = ["skillcue.advise", "skillcue.lookup", "skillcue.load"]


def assert_agent_spans(watched, request, thread=None):
    spans = watched.spans(*AGENT_SPANS)
    assert [span.name for span in spans] == AGENT_SPANS
    assert {span.parent.span_id for span in spans} == {request.get_span_context().span_id}
    assert {span.context.trace_id for span in spans} == {request.get_span_context().trace_id}
    if thread:
        wanted = session_hash({"thread_id": thread})
        assert {span.attributes["skillcue.session"] for span in spans} == {wanted}


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_an_agent_of_langchain(cue, watched, how):
    agent = _langchain(cue)
    given = {"messages": [{"role": "user", "content": PDF}]}
    config = {"configurable": {"thread_id": "t1"}}
    with watched.tracer.start_as_current_span("request") as request:
        if how == "invoke":
            agent.invoke(given, config)
        else:
            asyncio.run(agent.ainvoke(given, config))
    assert_agent_spans(watched, request, "t1")


async def test_an_agent_of_llamaindex(cue, watched):
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent
    from support import llamaindex_models

    from skillcue.llamaindex import with_skills

    script = [
        llamaindex_models.call("skill_lookup", query="pdf form"),
        llamaindex_models.call("skill_load", **LOAD),
        "filled",
    ]
    agent = with_skills(FunctionAgent(llm=llamaindex_models.StrictLlm(script=script)), cue)
    with watched.tracer.start_as_current_span("request") as request:
        await agent.run(user_msg=PDF)
    assert_agent_spans(watched, request)


WITHOUT_SDK = """
import sys
from skillcue import SkillCue
from skillcue.telemetry import OpenTelemetry

with SkillCue(sys.argv[1], mode="bm25", plugins=[OpenTelemetry()]) as cue:
    print(cue.advise([{"role": "user", "content": sys.argv[2]}]).decision)
    cue.lookup("pdf form")
    cue.load("pdf-form-filling")
print("opentelemetry.sdk" in sys.modules)
"""

GLOBAL_SDK = """
import sys
from skillcue import SkillCue
from skillcue.telemetry import OpenTelemetry

plugin = OpenTelemetry()  # before the application sets up its SDK

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
traces = TracerProvider()
traces.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(traces)
metrics.set_meter_provider(MeterProvider([reader]))
with SkillCue(sys.argv[1], mode="bm25", plugins=[plugin]) as cue:
    cue.load("pdf-form-filling")
print([span.name for span in exporter.get_finished_spans()])
print(reader.get_metrics_data().resource_metrics[0].scope_metrics[0].scope.name)
"""

NOT_INSTALLED = """
import sys
sys.modules["opentelemetry"] = None
from skillcue.telemetry import LogEvents, OpenTelemetry
from skillcue_hooks.errors import MissingExtraError
try:
    OpenTelemetry()
except MissingExtraError as error:
    print(error)
LogEvents()
"""


def process(program, *arguments):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=env,
        timeout=120,
    )
    return done.stdout.splitlines()


def test_without_an_sdk_nothing_happens(example_skills):
    assert process(WITHOUT_SDK, str(example_skills), PDF) == ["offer", "False"]


def test_the_global_sdk_counts_also_when_it_is_set_up_later(example_skills):
    assert process(GLOBAL_SDK, str(example_skills)) == ["['skillcue.load']", "skillcue"]


def test_a_missing_package_is_said_with_its_cure():
    (line,) = process(NOT_INSTALLED)
    assert 'pip install "skillcue[otel]"' in line
    assert issubclass(MissingExtraError, ImportError)


def test_wrong_arguments():
    with pytest.raises(ConfigurationError):
        OpenTelemetry(text="yes")
