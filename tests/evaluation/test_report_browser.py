"""The report in a real browser: drawn, readable, quiet, and it answers the mouse.

Needs Chromium or Chrome (``apt-get install chromium``; ``CHROMIUM=/path`` names another one).
"""

from __future__ import annotations

import copy
import re

import pytest
from support.browser import Browser, find_chromium
from support.evaluations import HOSTILE, QUERIES, evaluate, hostile_document, load

from skillcue.evaluation.report import render_report
from skillcue_adapters.language_models import open_language_model
from skillcue_hooks.testing import ScriptedLanguageModel

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium: apt-get install chromium, or set CHROMIUM=/path"
)
READY = "document.documentElement.dataset.ready === 'yes'"
PLOTS = ("measures", "recall", "latency", "differences")


@pytest.fixture(scope="module")
def browser():
    with Browser(CHROMIUM) as running:
        yield running


@pytest.fixture(scope="module")
def report(example_document, tmp_path_factory):
    """The report of the example dataset."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(example_document), "utf-8")
    return path


@pytest.fixture
def page(browser, report):
    """The report on a desktop."""
    return opened(browser, report)


def opened(browser, path, **how):
    page = browser.open(path, **how)
    page.wait_for(READY)
    page.wait_for(f"document.querySelectorAll('.plot svg').length >= {1}")
    return page


def count(page, selector):
    return page.evaluate(f"document.querySelectorAll({selector!r}).length")


def shown(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).innerText")


def tip(page):
    hidden = page.evaluate("document.getElementById('tip').hidden")
    return None if hidden else shown(page, "#tip")


def test_everything_is_drawn_without_a_word_on_the_console_or_the_network(
    page, report, example_document
):
    modes, queries = len(example_document["modes"]), len(example_document["queries"])
    measures = len(example_document["measures"])
    for plot in PLOTS:
        size = page.evaluate(
            f"(() => {{ const b = document.querySelector('[data-plot={plot}] svg')"
            ".getBoundingClientRect(); return [b.width, b.height]; })()"
        )
        assert size[0] > 300 and size[1] > 100, plot
    assert count(page, "[data-plot=measures] .mark") == modes * measures
    assert count(page, "[data-plot=recall] .curve") == modes
    assert count(page, "[data-plot=latency] .mark") == modes
    assert count(page, "[data-plot=differences] .bar") == queries
    assert count(page, "#measures tbody tr") == modes
    assert page.errors == []
    assert page.requests == [report.resolve().as_uri()]


def test_numbers_in_the_table_are_those_of_the_document(page, example_document):
    row = page.evaluate("document.querySelector('#measures tbody tr').innerText")
    mode = example_document["modes"][0]
    for measure in example_document["measures"]:
        assert f"{mode['means'][measure]['mean']:.3f}".removeprefix("0") in row


def test_hovering_the_recall_curves_reads_them(page, example_document):
    page.hover(*page.middle("[data-plot=recall] svg"))
    text = tip(page)
    rank = int(re.match(r"R@(\d+)", text)[1])
    assert 2 <= rank <= 25
    for mode in example_document["modes"]:
        assert mode["mode"] in text
        value = mode["recall"][rank - 1]
        assert f"{value:.3f}".removeprefix("0") in text
    page.hover(2, 2)
    assert tip(page) is None


def test_hovering_a_dot_tells_its_interval(page, example_document):
    page.hover(*page.middle("[data-plot=latency] .mark circle"))
    text = tip(page)
    assert example_document["modes"][0]["mode"] in text
    assert "95% interval" in text and " ms" in text


def test_hovering_and_choosing_a_bar_shows_the_query(page, example_document):
    def by(query):
        scores = [query["modes"][m]["scores"]["nDCG@10"] for m in ("skillsight", "bm25")]
        return scores[0] - scores[1]

    best = max(example_document["queries"], key=by)
    bar = page.middle("[data-plot=differences] .bar", 0)
    page.hover(*bar)
    assert best["text"][:60] in tip(page)
    assert "bm25 put first:" in tip(page)
    assert shown(page, ".query") == ""
    page.click(*bar)
    text = shown(page, ".query")
    assert best["text"] in text
    assert best["gold"][0]["name"] in text
    for answer in best["modes"].values():
        assert all(hit["name"] in text for hit in answer["top"])
    assert count(page, ".bar.chosen") == 1


def test_arrow_keys_walk_through_the_queries(page):
    page.click(*page.middle("[data-plot=differences] .bar", 0))
    first = shown(page, ".query")
    page.evaluate("document.querySelector('[data-plot=differences] svg').focus()")
    page.press("ArrowRight")
    assert shown(page, ".query") != first
    page.press("ArrowLeft")
    assert shown(page, ".query") == first


def test_another_measure_sorts_the_bars_anew(page):
    before = page.evaluate("document.querySelector('[data-plot=differences]').innerHTML")
    page.evaluate(
        "(() => { const s = document.querySelector('select[aria-label=measure]');"
        " s.value = 'R@5'; s.dispatchEvent(new Event('change')); })()"
    )
    after = page.evaluate("document.querySelector('[data-plot=differences]').innerHTML")
    assert after != before
    assert page.errors == []


def test_a_hard_query_opens(page):
    page.click(*page.middle("summary"))
    page.wait_for("document.querySelector('details').open")
    page.wait_for("document.querySelector('details blockquote') !== null")
    assert "answered by" in shown(page, "details")


OVERLAPPING = """[...document.querySelectorAll('.plot svg')].flatMap((svg) => {
  const words = [...svg.querySelectorAll('text')].map((t) => [t.textContent, t.getBoundingClientRect()]);
  return words.flatMap(([a, p], i) => words.slice(i + 1)
    .filter(([, q]) => p.right > q.left + 1 && q.right > p.left + 1 && p.bottom > q.top + 3 && q.bottom > p.top + 3)
    .map(([b]) => `${a} | ${b}`));
})"""


def crowded(document):
    """Five modes that are nearly alike, so that their dots lie side by side."""
    first, second = copy.deepcopy(document["modes"])
    names = ["bm25", "skillsight", "dense", "hybrid", "two_stage"]
    modes = [first, *(copy.deepcopy(second) for _ in names[1:])]
    for number, (mode, name) in enumerate(zip(modes, names, strict=True)):
        mode["mode"] = name
        mode["times"]["p50_ms"] = 5.0 + number / 10
        mode["means"]["R@5"]["mean"] = 0.87 + number / 500
    queries = [
        {**query, "modes": {name: query["modes"]["bm25"] for name in names}}
        for query in document["queries"]
    ]
    halves = [{**half, "means": dict.fromkeys(names, 0.5)} for half in document["by_echo"]]
    return {**document, "modes": modes, "queries": queries, "by_echo": halves}


def test_no_two_words_of_a_plot_lie_over_each_other(browser, report, example_document, tmp_path):
    many = tmp_path / "many.html"
    many.write_text(render_report(crowded(example_document)), "utf-8")
    for path in (report, many):
        for width in (360, 768, 1200):
            page = opened(browser, path, width=width)
            page.wait_for(f"document.querySelectorAll('.plot svg').length === {len(PLOTS)}")
            assert page.evaluate(OVERLAPPING) == [], (path.name, width)
            assert page.errors == []


def test_the_page_fits_a_phone(browser, report):
    page = opened(browser, report, width=360, height=740)
    page.wait_for(f"document.querySelectorAll('.plot svg').length === {len(PLOTS)}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(
        "[...document.querySelectorAll('.plot svg')].every((s) => s.getBoundingClientRect().right <= 360)"
    )
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('svg text, p, td, dd')]"
        ".map((e) => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 12
    page.resize(900, 740)
    page.wait_for(
        "document.querySelector('[data-plot=measures] svg').getBoundingClientRect().width > 600"
    )


CONTRAST = """[...document.querySelectorAll('h1,h2,h3,p,td,th,dt,dd,.badge,.facts,.legend,svg text')].map((e) => {
  const light = (rgb) => { const [r, g, b] = rgb.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  let behind = e;
  while (behind && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const style = getComputedStyle(e);
  const a = light(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
  const b = light(getComputedStyle(behind).backgroundColor);
  return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 30)];
}).sort((x, y) => x[0] - y[0])[0]"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_can_be_read_in_light_and_in_dark(browser, report, dark):
    page = opened(browser, report, dark=dark)
    page.wait_for(f"document.querySelectorAll('.plot svg').length === {len(PLOTS)}")
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", behind))) < 200) == dark
    least, words = page.evaluate(CONTRAST)
    assert least >= 4.5, words  # WCAG AA


def test_hostile_text_is_shown_and_does_nothing(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(render_report(hostile_document(tmp_path)), "utf-8")
    page = opened(browser, path)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert (count(page, "script"), count(page, "img")) == (2, 0)
    page.click(*page.middle("summary"))
    page.wait_for("document.querySelector('details blockquote') !== null")
    assert HOSTILE in page.evaluate("document.querySelector('details').textContent")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.errors == []
    assert page.requests == [path.resolve().as_uri()]


def test_the_policy_stops_a_script_that_gets_in(browser, tmp_path, example_document):
    """The second lock: were the escaping wrong, the browser itself would refuse."""
    path = tmp_path / "broken.html"
    inserted = "<script>window.hacked=1</script></body>"
    path.write_text(render_report(example_document).replace("</body>", inserted), "utf-8")
    page = opened(browser, path)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in error for error in page.errors)


def test_what_a_language_model_took_is_drawn(browser, folder, tmp_path):
    answer = '{"variants": ["knead a dough", "collect what I paid"]}'
    model = open_language_model(ScriptedLanguageModel([answer] * len(QUERIES)))
    document = evaluate(load(folder), ["bm25", "expand"], llm=model)
    path = tmp_path / "model.html"
    path.write_text(render_report(document), "utf-8")
    page = opened(browser, path)
    text = page.evaluate("document.querySelector('main').innerText")
    assert "What the language model took" in text
    assert f"expand, {len(QUERIES)} calls" in text
    assert f"{10 * len(QUERIES)} in, {5 * len(QUERIES)} out, money unknown" in text
    assert page.errors == []


def test_one_mode_and_one_query_make_a_report_as_well(browser, folder, tmp_path):
    document = evaluate(load(folder), ["bm25"])
    path = tmp_path / "one.html"
    path.write_text(render_report(document), "utf-8")
    page = opened(browser, path)
    assert "bm25" in shown(page, "h1")
    assert count(page, "[data-plot=differences]") == 0
    assert page.errors == []
