"""Runs a file of subclasses of a conformance suite, each with one fault, and tells what failed."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["Outcomes", "run_cases"]

Outcomes = dict[str, dict[str, set[str]]]
"""Class to outcome to names of tests."""


def run_cases(cases: Path, folder: Path, tests: Sequence[str] = ()) -> Outcomes:
    """What one real run of the file `cases`, in an empty `folder`, gave.

    Args:
        cases: Not collected by itself.
        folder: Where it runs.
        tests: Those of them that are run, as ``Class::test`` or ``Class``; empty runs all.
    """
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", "utf-8")
    report = folder / "report.xml"
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:asyncio", f"--rootdir={folder}"]
    command = [sys.executable, "-m", "pytest", *options, f"-c{folder / 'pytest.ini'}"]
    chosen = [f"{cases}::{test}" for test in tests] or [str(cases)]
    run = subprocess.run(
        [*command, f"--junitxml={report}", *chosen],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert run.returncode == 1, run.stdout + run.stderr  # ran to the end, and some tests failed
    found: Outcomes = defaultdict(lambda: defaultdict(set))
    for case in ElementTree.parse(report).iter("testcase"):
        suite = case.attrib["classname"].rpartition(".")[2]
        outcome = next((child.tag for child in case), "passed")
        outcome = "failure" if outcome == "error" else outcome
        found[suite][outcome].add(case.attrib["name"].partition("[")[0])
    return found
