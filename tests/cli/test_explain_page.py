"""A conversation as a page, in a real browser: what push decided on each turn can be read there.

Needs Chromium or Chrome (``apt-get install chromium``; ``CHROMIUM=/path`` names another one).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.browser import Browser, find_chromium
from support.evaluations import HOSTILE

from skillcue.cli import main
from skillcue.commands.conversation_page import PARTS
from skillcue.pages.render import page_script

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHROMIUM = find_chromium()
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: apt-get install chromium, or set CHROMIUM=/path"
)
READY = "document.documentElement.dataset.ready === 'yes'"
DRAWN = "document.querySelectorAll('.strip-bar').length > 0"


@pytest.fixture(scope="module")
def browser():
    with Browser(CHROMIUM) as running:
        yield running


def write_page(folder, capsys=None, *, conversation=None, skills=None):
    """The page and the JSON document of the same run."""
    page = folder / "talk.html"
    talk = conversation or EXAMPLES / "conversations" / "office-odds.json"
    library = ["--skills", str(skills or EXAMPLES / "skills")]
    command = ["explain", "--conversation", str(talk), "--html", str(page), "--json"]
    assert main([*command, *library, "--mode", "bm25"]) == 0
    return page, json.loads(capsys.readouterr().out)


def hostile_conversation(folder):
    skill = folder / "skills" / "bread"
    skill.mkdir(parents=True)
    text = f"---\nname: bread\ndescription: {json.dumps('sourdough crumb ' + HOSTILE)}\n---\nBake it.\n"
    (skill / "SKILL.md").write_text(text, "utf-8")
    path = folder / "talk.json"
    messages = [
        {"role": "user", "content": f"sourdough crumb {HOSTILE}"},
        {"role": "assistant", "content": HOSTILE},
        # No closing bracket of its own: the parser would take the next one of the page.
        {"role": "user", "content": "</script x <!--<script "},
    ]
    path.write_text(json.dumps({"title": HOSTILE, "messages": messages}), "utf-8")
    return path


def opened(browser, path, **how):
    page = browser.open(path, **how)
    page.wait_for(READY)
    page.wait_for(DRAWN)
    return page


def count(page, selector):
    return page.evaluate(f"document.querySelectorAll({selector!r}).length")


def shown(page, selector, number=0):
    return page.evaluate(f"document.querySelectorAll({selector!r})[{number}].innerText")


@needs_browser
def test_every_turn_stands_on_the_page_with_its_decision(browser, tmp_path, capsys):
    path, document = write_page(tmp_path, capsys)
    page = opened(browser, path)
    turns = document["turns"]
    assert count(page, ".turn") == count(page, ".strip-bar") == len(turns)
    for number, turn in enumerate(turns):
        text = shown(page, ".turn", number)
        offered = turn["push"]["skills"]
        assert turn["user"].split("\n")[0][:30] in text
        assert all(name in text for name in offered)
        silent = page.evaluate(
            f"document.querySelectorAll('.turn')[{number}].matches('.silent, .held')"
        )
        assert silent == (not offered)
    advised = sum(bool(turn["push"]["skills"]) for turn in turns)
    assert f"{advised} of {len(turns)}" in shown(page, ".sum")
    assert page.errors == []
    assert page.requests == [path.resolve().as_uri()]


@needs_browser
def test_a_click_opens_a_turn_with_advice_candidates_and_reasons(browser, tmp_path, capsys):
    path, document = write_page(tmp_path, capsys)
    page = opened(browser, path)
    push = document["turns"][0]["push"]
    assert push["decision"] == "offer"
    page.click(*page.middle(".turn > details > summary"))
    page.wait_for("document.querySelector('.turn .inside') !== null")
    page.evaluate("document.querySelectorAll('.rest').forEach((d) => { d.open = true; })")
    text = shown(page, ".inside")
    assert push["reason"] in text
    assert f"{push['tokens']} tokens" in text
    assert re.search(r"\d ms", text)
    assert page.evaluate("document.querySelector('.advice').textContent") == push["text"]
    for rejected in push["rejected"]:
        assert rejected["name"] in text
        assert rejected["reason"] in text
    page.click(*page.middle(".candidate > summary"))
    page.wait_for("document.querySelector('.candidate .more') !== null")
    assert "evidence" in shown(page, ".candidate .more")


@needs_browser
def test_a_bar_of_the_strip_opens_its_turn(browser, tmp_path, capsys):
    path, document = write_page(tmp_path, capsys)
    page = opened(browser, path)
    last = len(document["turns"]) - 1
    page.hover(*page.middle(".strip-bar .back", last))
    assert f"turn {last + 1}" in shown(page, "#tip")
    page.click(*page.middle(".strip-bar .back", last))
    page.wait_for(f"document.querySelectorAll('.turn > details')[{last}].open")
    assert count(page, ".turn > details[open]") == 1


@needs_browser
def test_the_bar_of_a_turn_ends_right_of_its_threshold_only_where_it_was_reached(
    browser, tmp_path, capsys
):
    path, document = write_page(tmp_path, capsys)
    page = opened(browser, path)
    for number, turn in enumerate(document["turns"]):
        ends = page.evaluate(
            f"(() => {{ const g = document.querySelectorAll('.turn .gauge')[{number}];"
            " return [g.querySelector('i').getBoundingClientRect().right,"
            " g.querySelector('b').getBoundingClientRect().right]; })()"
        )
        reached = turn["push"]["confidence"] >= turn["push"]["threshold"]
        assert (ends[0] >= ends[1] - 1.5) == reached, number


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_in_dark(browser, tmp_path, capsys, dark):
    path, _ = write_page(tmp_path, capsys)
    page = opened(browser, path, width=360, height=740, dark=dark)
    page.evaluate("document.querySelectorAll('.turn > details').forEach((d) => { d.open = true; })")
    page.wait_for("document.querySelectorAll('.inside').length > 1")
    page.evaluate("document.querySelectorAll('.candidate').forEach((d) => { d.open = true; })")
    page.wait_for("document.querySelectorAll('.more').length > 1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", behind))) < 200) == dark


@needs_browser
def test_hostile_texts_are_shown_and_do_nothing(browser, tmp_path, capsys):
    talk = hostile_conversation(tmp_path)
    path, document = write_page(tmp_path, capsys, conversation=talk, skills=tmp_path / "skills")
    page = opened(browser, path)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.wait_for("document.querySelector('.candidate') !== null")
    page.evaluate("document.querySelectorAll('.candidate').forEach((d) => { d.open = true; })")
    page.wait_for("document.querySelector('.more') !== null")
    assert document["turns"][0]["push"]["decision"] == "offer"
    text = page.evaluate("document.querySelector('main').textContent")
    assert text.count("<img src=x onerror=window.hacked=1>") >= 4  # title, user, reply, description
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert (count(page, "script"), count(page, "img")) == (2, 0)
    assert page.errors == []


def test_the_page_is_one_file_and_its_script_makes_no_markup(tmp_path, capsys):
    path, document = write_page(tmp_path, capsys)
    text = path.read_text("utf-8")
    assert re.findall(r"https?://[^\s\"'<\\]+", text) == ["http://www.w3.org/2000/svg"]
    script = page_script(PARTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon", script)
    plain = text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert plain.count("<li>") == len(document["turns"])


def test_html_without_a_conversation_and_into_no_folder_are_errors(tmp_path, capsys):
    library = ["--skills", str(EXAMPLES / "skills")]
    assert main(["explain", "bread", "--html", str(tmp_path / "x.html"), *library]) == 2
    assert "--conversation" in capsys.readouterr().err
    talk = str(EXAMPLES / "conversations" / "office-odds.json")
    nowhere = str(tmp_path / "no" / "x.html")
    assert main(["explain", "--conversation", talk, "--html", nowhere, *library]) == 2
    assert "no such folder" in capsys.readouterr().err
