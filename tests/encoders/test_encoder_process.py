"""A value that is made once in a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from skillcue_adapters.encoders.per_process import PerProcess


def test_threads_that_meet_make_it_once():
    made = []

    def make():
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    value = PerProcess(make)
    found = []
    threads = [threading.Thread(target=lambda: found.append(value.get())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert set(map(id, found)) == {id(made[0])}


def test_a_failure_is_tried_again():
    answers = iter([ValueError("first"), "second"])

    def make():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    value = PerProcess(make)
    with pytest.raises(ValueError, match="first"):
        value.get()
    assert value.get() == "second"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_process_that_was_busy_making_it_does_not_wait():
    code = (
        "import os, signal, threading\n"
        "from skillcue_adapters.encoders.per_process import PerProcess\n"
        "busy, done, parent = threading.Event(), threading.Event(), os.getpid()\n"
        "def make():\n"
        "    if os.getpid() == parent:\n"
        "        busy.set(); done.wait()\n"
        "    return os.getpid()\n"
        "value = PerProcess(make)\n"
        "thread = threading.Thread(target=value.get); thread.start()\n"
        "busy.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(10)\n"
        "    os._exit(0 if value.get() == os.getpid() else 3)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "done.set(); thread.join()\n"
        "print(status, value.get() == parent)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0 True"
