"""A process ends while a model is still asked, and a model cannot end the process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest

from skillcue_adapters.language_models import open_language_model
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage
from skillcue_hooks.testing import ScriptedLanguageModel

HANGING = """
import atexit, socket, sys, time

ended = None

@atexit.register  # runs after those that were registered later
def tell():
    print(f"waited {{time.monotonic() - ended:.1f}}", flush=True)

from skillcue_adapters import threads
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage

def sleeps(system, prompt):
    time.sleep(60)

def works(system, prompt):
    while True:
        pass

silent = socket.create_server(("127.0.0.1", 0))
endpoint = f"openai:tiny@http://127.0.0.1:{{silent.getsockname()[1]}}/v1"
# An endpoint that ends by itself when its own time is up must be under way at exit: a longer
# time than the caller's.
model = open_language_model({llm}, limits=CallLimits(tries=1))
backend = model._backend
answer = backend.answer
backend.answer = lambda messages, tools, max_tokens, timeout_s: answer(messages, tools, max_tokens, 60)
try:
    model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=0.2)
except LanguageModelError:
    print("given up", len(threads._running), flush=True)
ended = time.monotonic()
"""


@pytest.mark.parametrize("llm", ["endpoint", "sleeps", "works"])
def test_a_call_that_was_given_up_is_not_waited_for_at_exit(llm):
    done = subprocess.run(
        [sys.executable, "-c", HANGING.format(llm=llm)],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "given up 1\n" in done.stdout
    assert float(done.stdout.split("waited ")[1]) < 5  # other work is waited for up to 10 s


@pytest.mark.parametrize(
    "ending",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
def test_a_model_that_raises_what_ends_a_process_gives_no_answer(ending):
    model = open_language_model(ScriptedLanguageModel([ending, "yes"]))
    asked = [ChatMessage("user", "x")]
    with pytest.raises(LanguageModelError, match=f"it raised {type(ending).__name__}") as caught:
        model.complete(asked, max_tokens=9, timeout_s=20)
    assert caught.value.cure
    assert model.complete(asked, max_tokens=9, timeout_s=20).text == "yes"


INTERRUPTED = """
import signal, threading
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.language import ChatMessage

def hangs(system, prompt):
    print("asked", flush=True)
    threading.Event().wait(60)

model = open_language_model(hangs)
try:
    model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_an_interrupt_of_whoever_waits_passes():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout.readline() == "asked\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=50)
    assert (running.returncode, out, err) == (0, "interrupted\n", "")
