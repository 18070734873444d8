"""The page on the JSON document names every field that there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.evaluations import evaluate, load

from skillcue.evaluation.document import SCHEMA, VERSION
from skillcue.evaluation.outcomes import Outcome
from skillcue_adapters.language_models import open_language_model
from skillcue_hooks.testing import ScriptedLanguageModel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "evaluation-json.md"


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text("utf-8")


@pytest.fixture
def document(folder):
    outcomes = [Outcome("q1", 1.0, None)]
    model = open_language_model(ScriptedLanguageModel([]))
    return evaluate(load(folder), ["bm25", "dense"], llm=model, outcomes=outcomes)


def fields(page, heading):
    """First column of the table below a heading."""
    section = page.partition(heading)[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_page_has_every_field(page, document):
    assert fields(page, "# The document") == set(document)
    assert fields(page, "## `dataset`") == set(document["dataset"])
    (comparison,) = document["comparisons"]
    assert set(comparison) == {"mode", "baseline", "measures"}
    assert fields(page, "## `comparisons[]`") == set(comparison["measures"]["MRR"])
    for name in ("modes", "gaps", "by_echo", "queries"):
        assert fields(page, f"## `{name}[]`") == set(document[name][0]), name


def test_the_page_has_every_setting(page, document):
    line, _of_push = re.findall(r"^\| `settings` \|.*", page, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", line)) - {"settings"} == set(document["settings"])


def test_the_page_is_of_this_version(page):
    assert f"`schema` is `{SCHEMA}`; `version` is {VERSION} " in page
