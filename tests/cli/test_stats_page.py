"""The page of ``skillcue stats``, in a real browser.

Needs Chromium or Chrome (``apt-get install chromium``; ``CHROMIUM=/path`` names another one).
"""

from __future__ import annotations

import json

import pytest
from support.browser import Browser, find_chromium
from support.evaluations import HOSTILE

from skillcue import SkillCue
from skillcue.cli import EXIT_OK, EXIT_USAGE, main
from skillcue.telemetry import EventSettings

CHROMIUM = find_chromium()
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: apt-get install chromium, or set CHROMIUM=/path"
)
READY = "document.documentElement.dataset.ready === 'yes'"
PDF = "I have to fill in a PDF form for my visa application"


@pytest.fixture(scope="module")
def browser():
    with Browser(CHROMIUM) as running:
        yield running


def write_page(
    folder, capsys, skills, *options, ask=PDF, load="pdf-form-filling", search="zzzz qqqq"
):
    """The page and the JSON document of the same run."""
    events, page = folder / "events.db", folder / "stats.html"
    with SkillCue(skills, mode="bm25", events=EventSettings(events, text=True)) as cue:
        messages = [{"role": "user", "content": ask}]
        cue.advise(messages)
        cue.tools().load(load, messages=messages)
        other = [{"role": "user", "content": "something else"}]
        cue.tools().lookup(search, messages=other)
    command = ["stats", "--events", str(events), "--html", str(page), "--json", *map(str, options)]
    assert main(command) == EXIT_OK
    return page, json.loads(capsys.readouterr().out)


def text_of(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).textContent")


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (400, True)])
def test_what_is_drawn(browser, tmp_path, capsys, example_skills, width, dark):
    path, told = write_page(tmp_path, capsys, example_skills, "--skills", example_skills)
    page = browser.open(path, width=width, dark=dark)
    page.wait_for(READY)
    assert page.errors == [] and page.requests == [path.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = text_of(page, "main")
    assert f"{told['library']['saved_against_everything']:,}" in shown
    rows = page.evaluate("document.querySelectorAll('.skills tbody tr').length")
    assert rows == len(told["skills"])
    assert text_of(page, ".skills td") == "pdf-form-fillingoffice/pdf-form-filling"
    assert text_of(page, ".misses tbody tr") == "1no hitzzzz qqqq"
    chips = page.evaluate("document.querySelectorAll('.chip').length")
    assert chips == len(told["library"]["never_read"]) == 47


@needs_browser
def test_without_a_library(browser, tmp_path, capsys, example_skills):
    path, _ = write_page(tmp_path, capsys, example_skills)
    page = browser.open(path)
    page.wait_for(READY)
    assert page.errors == [] and "saved" not in text_of(page, "main")


@needs_browser
def test_nothing_that_anybody_wrote_is_markup(browser, tmp_path, capsys):
    folder = tmp_path / "skills" / "x"
    folder.mkdir(parents=True)
    head = f"name: {json.dumps('bread ' + HOSTILE)}\ndescription: sourdough crumb\n"
    (folder / "SKILL.md").write_text(f"---\n{head}---\n\nBake.\n", "utf-8")
    with SkillCue(tmp_path / "skills", mode="bm25") as cue:
        (skill,) = cue.list()
    hostile = {"ask": f"sourdough {HOSTILE}", "load": skill.id, "search": HOSTILE}
    path, told = write_page(tmp_path, capsys, tmp_path / "skills", **hostile)
    assert [miss["text"] for miss in told["missed"]] == [HOSTILE]
    page = browser.open(path)
    page.wait_for(READY)
    assert page.errors == [] and page.requests == [path.as_uri()]
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('main img, main iframe, main a').length") == 0


def test_equal_events_give_equal_bytes(tmp_path, capsys, example_skills):
    path, _ = write_page(tmp_path, capsys, example_skills)
    again = tmp_path / "again.html"
    assert main(["stats", "--events", str(tmp_path / "events.db"), "--html", str(again)]) == EXIT_OK
    assert again.read_bytes() == path.read_bytes()


def test_a_folder_that_is_not_there_is_said_first(tmp_path, capsys):
    command = ["stats", "--events", "nowhere.db", "--html", str(tmp_path / "no" / "x.html")]
    assert main(command) == EXIT_USAGE
    assert "no such folder" in capsys.readouterr().err
