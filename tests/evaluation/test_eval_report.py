"""The report as a file: whole, small, and nothing in the data can become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from support.evaluations import evaluate, hostile_document, load, write_lines, write_qrels

from skillcue.evaluation.report import CHARS_SHOWN, PARTS, QUERIES_SHOWN, render_report
from skillcue.pages.render import page_script


class Elements(HTMLParser):
    """Tags and attributes as a browser's parser meets them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_report_is_one_file_that_loads_nothing(example_document):
    page = render_report(example_document)
    found = Elements(page)
    assert found.links == ["data:,"]
    assert found.tags.count("script") == 2
    assert not {"iframe", "object", "embed", "base", "form"} & set(found.tags)
    assert re.findall(r"https?://[^\s\"'<]+", page) == ["http://www.w3.org/2000/svg"]
    assert len(page.encode()) < 1_000_000


def test_the_policy_allows_this_script_alone(example_document):
    page = render_report(example_document)
    policy = re.search(r'Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none';")
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_hostile_text_stays_text(folder):
    document = hostile_document(folder)
    page = render_report(document)
    found = Elements(page)
    assert found.tags.count("script") == 2
    assert "img" not in found.tags
    assert data_of(page)["queries"][0]["text"] == document["queries"][0]["text"]
    assert "window.hacked=1</script>" not in page


def test_what_looks_like_a_slot_in_the_data_is_no_slot(folder):
    write_lines(folder / "queries.jsonl", [{"_id": "q1", "text": "<!--slot:script--> bread"}])
    write_qrels(folder / "qrels.tsv", [("q1", "g/bread", 1)])
    page = render_report(evaluate(load(folder), ["bm25"]))
    assert page.count('"use strict"') == 1
    assert data_of(page)["queries"][0]["text"] == "<!--slot:script--> bread"


def test_the_script_never_makes_markup_of_text():
    """Everything goes through text nodes and attributes of elements that it makes itself."""
    script = page_script(PARTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|import\(|WebSocket|sendBeacon", script)


def test_long_queries_are_cut_and_many_are_left_out_with_a_note(folder):
    count = QUERIES_SHOWN + 5
    records = [{"_id": f"q{n}", "text": f"bread {'x ' * CHARS_SHOWN}"} for n in range(count)]
    write_lines(folder / "queries.jsonl", records)
    write_qrels(folder / "qrels.tsv", [(f"q{n}", "g/bread", 1) for n in range(count)])
    document = evaluate(load(folder), ["bm25"])
    shown = data_of(render_report(document))
    assert len(document["queries"]) == count
    assert len(shown["queries"]) == QUERIES_SHOWN
    assert f"{QUERIES_SHOWN:,} of {count:,}" in shown["report_notes"][0]
    assert len(shown["queries"][0]["text"]) <= CHARS_SHOWN
    assert "context" not in shown["queries"][0]


def test_readers_without_scripts_get_the_means(example_document):
    page = render_report(example_document)
    plain = page.partition("<noscript>")[2].partition("</noscript>")[0]
    for mode in example_document["modes"]:
        assert mode["mode"] in plain
        assert f"{mode['means']['R@5']['mean']:.3f}" in plain


def test_equal_documents_give_equal_pages(example_document):
    again = json.loads(json.dumps(example_document))
    assert render_report(again) == render_report(example_document)
