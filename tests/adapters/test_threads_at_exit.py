"""Processes that end while something is encoded or fitted in the background."""

from __future__ import annotations

import subprocess
import sys

import pytest

WORKS = """
import time
from skillcue import SkillCue
from skillcue_adapters import threads

class Slow:
    fingerprint, dim = "slow", 4
    def encode_documents(self, texts):
        return self.encode_queries(texts)
    def encode_queries(self, texts):
        import numpy as np
        time.sleep(0.05)
        print("encoded", flush=True)
        return np.eye(4, dtype="float32")[[0] * len(texts)]

started = time.monotonic()
cue = SkillCue({skills!r}, encoder=Slow(), cache=False, recheck="manual", {settings})
{act}
while not threads._running:
    time.sleep(0.001)
print("end", flush=True)
"""
INDEXING = ("modes={'skillsight': {'inline_texts': 0, 'batch_texts': 1}}", "cue.lookup('pdf')")
FITTING = (
    "",
    """cue.lookup('pdf')
retriever = cue._engine.bare_retriever('skillsight', cue.snapshot().library)
cue._fits.fitted('skillsight', cue.snapshot().library, retriever, wait=0)""",
)


@pytest.mark.parametrize(("settings", "act"), [INDEXING, FITTING], ids=["indexing", "fitting"])
def test_background_work_is_asked_to_stop_at_exit(example_skills, settings, act):
    program = WORKS.format(skills=str(example_skills), settings=settings, act=act)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    after = done.stdout.split("end\n")[1]
    assert after.count("encoded") <= 2  # the batch at hand, and one that had begun


def test_what_has_begun_is_waited_for_at_exit():
    program = """
import time
from skillcue_adapters.threads import start_background

def work():
    time.sleep(0.3)
    print("over", flush=True)

start_background("work", work)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("over\n", "")
