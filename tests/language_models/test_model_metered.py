"""Limits, retries, failures and the meter, around a model that is played."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.errors import ConfigurationError, LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion, ToolCall, ToolSpec, Usage
from skillcue_hooks.protocols import LanguageModel
from skillcue_hooks.testing import ScriptedLanguageModel

ASKED = [ChatMessage("system", "Be brief."), ChatMessage("user", "Which skill?")]
QUICK = CallLimits(backoff_s=0.001, longest_backoff_s=0.002)


def ask(model, *, timeout_s=5.0, **options):
    return model.complete(ASKED, max_tokens=20, timeout_s=timeout_s, **options)


class RateLimitError(Exception):
    """As the clients of model services name theirs."""


class StatusError(Exception):
    def __init__(self, status_code):
        super().__init__("Incorrect API key provided: sk-SECRET")
        self.status_code = status_code


def test_it_is_a_language_model_itself_and_keeps_what_names_the_inner_one():
    inner = ScriptedLanguageModel(["a"], calls_tools=True)
    model = open_language_model(inner)
    assert isinstance(model, LanguageModel)
    assert (model.fingerprint, model.calls_tools) == (inner.fingerprint, True)
    assert open_language_model(model) is model


@pytest.mark.parametrize(
    "passing",
    [
        TimeoutError("slow"),
        ConnectionResetError("gone"),
        RateLimitError("wait"),
        StatusError(429),
        StatusError(503),
    ],
    ids=repr,
)
def test_what_may_pass_is_tried_again(passing):
    inner = ScriptedLanguageModel([passing, passing, "yes"])
    model = open_language_model(inner, limits=QUICK)
    assert ask(model).text == "yes"
    assert len(inner.asked) == 3
    assert model.usage == {"": Usage(1, 10, 5, None)}


@pytest.mark.parametrize(
    "lasting", [ValueError("no"), StatusError(401), StatusError(400), PermissionError()], ids=repr
)
def test_what_will_not_pass_is_not_tried_again(lasting):
    inner = ScriptedLanguageModel([lasting, "yes"])
    with pytest.raises(LanguageModelError, match=type(lasting).__name__):
        ask(open_language_model(inner, limits=QUICK))
    assert len(inner.asked) == 1


def test_tries_end():
    inner = ScriptedLanguageModel([StatusError(503)] * 9)
    with pytest.raises(LanguageModelError, match=r"StatusError, status 503"):
        ask(open_language_model(inner, limits=QUICK))
    assert len(inner.asked) == 3


def test_a_failure_shows_its_class_and_never_its_text():
    model = open_language_model(ScriptedLanguageModel([StatusError(401)]))
    with pytest.raises(LanguageModelError) as caught:
        ask(model)
    shown = "".join(traceback.format_exception(caught.value))
    assert "StatusError, status 401" in shown
    assert "SECRET" not in shown


def test_what_a_model_object_says_about_itself_is_passed_on():
    said = LanguageModelError("out of credit", "Buy some.")
    inner = ScriptedLanguageModel([said, "yes"])
    with pytest.raises(LanguageModelError) as caught:
        ask(open_language_model(inner))
    assert caught.value is said
    assert len(inner.asked) == 1


def test_a_model_that_hangs_is_given_up_in_time_and_what_it_took_is_counted_in_the_end():
    release, counted = threading.Event(), threading.Event()

    def hangs(_messages):
        release.wait(30)
        return Completion("late", usage=Usage(1, 7, 8, None))

    model = open_language_model(ScriptedLanguageModel([hangs]), limits=QUICK)
    booked = model._meter.add
    model._meter.add = lambda *args: (booked(*args), counted.set())
    with pytest.raises(LanguageModelError, match="TimeoutError"):
        ask(model, timeout_s=0.05)
    assert model.usage == {}
    release.set()
    assert counted.wait(10)
    assert model.usage == {"": Usage(1, 7, 8, None)}


def test_a_request_has_its_own_limit_and_is_tried_again_after_it():
    release = threading.Event()
    inner = ScriptedLanguageModel([lambda _messages: release.wait(30), "yes"])
    limits = CallLimits(timeout_s=0.05, backoff_s=0.001)
    assert ask(open_language_model(inner, limits=limits), timeout_s=20).text == "yes"
    release.set()


def test_no_more_requests_are_under_way_than_allowed():
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(2, timeout=10)

    def answer(system, prompt):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # two are under way at once, else this breaks
        with lock:
            running -= 1
        return "yes"

    shared = open_language_model(answer, limits=CallLimits(concurrency=2))
    with ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda n: ask(shared.for_mode(f"m{n % 2}")).text, range(6)))
    assert texts == ["yes"] * 6
    assert most == 2


def test_a_free_slot_is_waited_for_no_longer_than_the_time_allowed():
    release, entered = threading.Event(), threading.Event()

    def hangs(system, prompt):
        entered.set()
        release.wait(30)
        return "yes"

    model = open_language_model(hangs, limits=CallLimits(concurrency=1, tries=1))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, model, timeout_s=20)
        assert entered.wait(10)
        with pytest.raises(LanguageModelError, match="other requests took all places") as caught:
            ask(model, timeout_s=0.02)
        assert "concurrency=1" in caught.value.cure
        release.set()
        assert first.result().text == "yes"


FORKED = """
import os, sys, threading
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.language import ChatMessage

entered, release = threading.Event(), threading.Event()

def answer(system, prompt):
    if prompt == "hang":
        entered.set()
        release.wait(30)
    return prompt

model = open_language_model(answer, limits=CallLimits(concurrency=1, tries=1))

def ask(text):
    return model.complete([ChatMessage("user", text)], max_tokens=5, timeout_s=20).text

hanging = threading.Thread(target=ask, args=("hang",))
hanging.start()
entered.wait(10)
child = os.fork()
if not child:
    print(ask("child"), model.usage[""].calls, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
release.set()
hanging.join()
print(ask("parent"), model.usage[""].calls)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_all_places_of_its_own():
    options = ["-W", "ignore::DeprecationWarning"]  # Python 3.12 warns of forks beside threads
    done = subprocess.run(
        [sys.executable, *options, "-c", FORKED],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("child 1\nparent 2\n", "")


def test_totals_by_mode_are_exact_with_many_threads():
    model = open_language_model(lambda system, prompt: "yes", prices={"<lambda>": (1e6, 2e6)})
    one = ask(model.for_mode("warm")).usage
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ask(model.for_mode("ab"[n % 2])), range(100)))
    assert list(model.usage) == ["a", "b", "warm"]
    for mode in "ab":
        found = model.usage[mode]
        assert (found.calls, found.input_tokens) == (50, 50 * one.input_tokens)
        assert found.money == pytest.approx(50 * one.money)


def test_tokens_are_estimated_where_a_model_does_not_count():
    usage = ask(open_language_model(lambda system, prompt: "a" * 40)).usage
    sent = estimate_tokens("Be brief.\nWhich skill?")
    assert usage == Usage(1, sent, 10, None, estimated=True)


def test_tools_and_calls_count_in_an_estimate():
    call = ToolCall("1", "search", {"query": "x" * 400})
    inner = ScriptedLanguageModel([Completion("", (call,))], calls_tools=True)
    tool = ToolSpec("search", "d" * 400, {"type": "object"})
    usage = ask(open_language_model(inner), tools=[tool]).usage
    assert usage.input_tokens > 100
    assert usage.output_tokens > 100


def test_money_comes_from_the_table_unless_the_model_knows_it():
    prices = {"ScriptedLanguageModel": (2.0, 10.0)}
    own = Completion("b", usage=Usage(1, 1, 1, 0.5))
    model = open_language_model(ScriptedLanguageModel(["a", own]), prices=prices)
    assert ask(model).usage.money == pytest.approx((10 * 2 + 5 * 10) / 1_000_000)
    assert ask(model).usage.money == 0.5
    assert ask(open_language_model(ScriptedLanguageModel(["a"]))).usage.money is None


def test_a_function_gets_system_and_prompt():
    seen = []

    def answer(system, prompt):
        seen.append((system, prompt))
        return "ok"

    model = open_language_model(answer)
    ask(model)
    talk = [*ASKED, ChatMessage("assistant", "{}"), ChatMessage("user", "Again.")]
    model.complete(talk, max_tokens=5, timeout_s=5)
    assert seen[0] == ("Be brief.", "Which skill?")
    assert seen[1] == ("Be brief.", "user: Which skill?\n\nassistant: {}\n\nuser: Again.")
    assert not model.calls_tools


async def test_it_can_be_asked_off_an_event_loop():
    model = open_language_model(ScriptedLanguageModel(["yes"]))
    assert (await asyncio.to_thread(ask, model)).text == "yes"


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"timeout_s": float("nan")},
        {"timeout_s": 1e300},
        {"timeout_s": 10**400},
        {"timeout_s": "8"},
        {"tries": "3"},
        {"tries": None},
        {"tries": 0},
        {"tries": 1.5},
        {"concurrency": True},
        {"backoff_s": -1},
        {"longest_backoff_s": "8"},
    ],
    ids=str,
)
def test_limits_out_of_range_say_so(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))) as caught:
        CallLimits(**wrong)
    assert caught.value.cure
