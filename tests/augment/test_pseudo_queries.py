"""Pseudo-queries: worded as users word them, filled with valid values, checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_adapters.augment.augmentation import (
    Augmentation,
    augment_by_rules,
    content_key,
    quality,
)
from skillcue_adapters.augment.pseudo_queries import (
    MAX_QUERIES,
    PseudoQuery,
    Template,
    fill,
    forms_of,
    problems,
    pseudo_queries,
    template,
    values_of,
)
from skillcue_adapters.augment.skill_graph import (
    Capability,
    Parameter,
    SkillGraph,
    parse_skill_graph,
)
from skillcue_hooks.testing import make_skill

WIDTH = Parameter("width", "integer", required=True, minimum=1, maximum=9)
MODE = Parameter("mode", "string", choices=("fit", "crop"), default="crop")
RESIZE = Capability("Resize images", "", (WIDTH, MODE))


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (Parameter("n", "integer", examples=("7",), default="5"), ("7", "5", "3")),
        (Parameter("n", "integer", examples=("many",), maximum=2, minimum=0), ("1", "0", "2")),
        (Parameter("n", "integer", examples=("2.5",)), ("3",)),
        (Parameter("n", "number", minimum=0, maximum=1), ("0.5", "0", "1")),
        (Parameter("n", "number", default="nan"), ("3",)),
        (MODE, ("fit", "crop")),
        (Parameter("m", "string", choices=("a", "b"), examples=("c",)), ("a", "b")),
        (Parameter("b", "boolean", default="maybe"), ("true", "false")),
        (Parameter("s", "string"), ()),
        (Parameter("s", ""), ()),
        (Parameter("s", "string", examples=("Oslo",)), ("Oslo",)),
    ],
)
def test_values_are_valid_and_those_that_the_file_shows_come_first(
    parameter: Parameter, values: tuple[str, ...]
) -> None:
    assert values_of(parameter) == values


@pytest.mark.parametrize(
    ("text", "values", "problem"),
    [
        ("x", {"width": "5"}, None),
        ("x", {"width": "5", "mode": "fit"}, None),
        ("x", {"mode": "fit"}, "width is required"),
        ("x", {"width": "5", "height": "3"}, "there is no parameter height"),
        ("x", {"width": "wide"}, "width is no integer"),
        ("x", {"width": "5.5"}, "width is no integer"),
        ("x", {"width": "10"}, "width is out of range"),
        ("x", {"width": "0"}, "width is out of range"),
        ("x", {"width": "5", "mode": "stretch"}, "mode is none of its choices"),
        ("x {width}", {"width": "5"}, "width is not filled"),
    ],
)
def test_what_is_wrong_with_a_request(
    text: str, values: dict[str, str], problem: str | None
) -> None:
    found = problems(PseudoQuery(text, "Resize images", tuple(values.items())), RESIZE)
    assert found == ([] if problem is None else [problem])


def test_a_text_type_and_booleans_are_checked() -> None:
    capability = Capability("c", "", (Parameter("s", "string"), Parameter("b", "boolean")))
    assert problems(PseudoQuery("x", "c", (("s", " "),)), capability) == ["s is empty"]
    assert problems(PseudoQuery("x", "c", (("b", "3"),)), capability) == ["b is no boolean"]


def test_slots_are_filled_and_unknown_ones_stay() -> None:
    made = fill(Template("Resize images", "make it {width} wide, {height} high"), RESIZE)
    assert (made.text, made.values) == ("make it 5 wide, {height} high", (("width", "5"),))
    assert problems(made, RESIZE) == ["height is not filled"]


def test_a_request_asks_for_the_capability_with_its_parameters() -> None:
    assert template(RESIZE, "imperative", "images").text == (
        "resize images with width {width} with mode {mode}"
    )
    assert template(RESIZE, "question", "images").text.startswith("how do I resize images")


@pytest.mark.parametrize(
    ("name", "description", "said"),
    [
        ("Merging files", "", "merge files"),
        ("splitPages", "", "split pages"),
        ("convert_to_csv", "", "convert to csv"),
        ("Loading and saving", "", "get help with loading and saving for data tool"),
        ("Transformation patterns", "", "get help with transformation patterns for data tool"),
        ("Buffers (all kinds)", "Choose the pKa near the pH.", "choose the pKa near the pH"),
        ("data-tool", "", "get help with data tool"),
        ("\u26a0\ufe0f Check {this}!", "", "check this"),
    ],
)
def test_names_become_requests(name: str, description: str, said: str) -> None:
    assert template(Capability(name, description), "imperative", "data-tool").text == said


def test_the_style_of_the_examples_comes_first() -> None:
    assert forms_of(())[0] == "imperative"
    assert forms_of(["Can you merge these?", "please sort it", "merge"])[0] == "polite"
    assert forms_of(["How do I merge?", "what is it?", "merge"])[0] == "question"
    assert forms_of(["I need a chart of the sales", "we need it now"])[0] == "need"
    graph = SkillGraph("s", (Capability("Merge files"),), ("Can you merge these?",))
    assert pseudo_queries(graph, "s")[0][0].text == "can you merge files for me"


def test_a_request_that_cannot_be_filled_is_counted_and_left_out() -> None:
    bad = Capability("Send mail", "", (Parameter("to", "string", required=True),))
    graph = SkillGraph("s", (Capability("Merge files"), bad))
    kept, tried = pseudo_queries(graph, "s")
    assert {query.capability for query in kept} == {"Merge files"}
    assert (len(kept), tried) == (2, 4)


def test_capabilities_take_turns_up_to_the_limit() -> None:
    graph = SkillGraph("s", tuple(Capability(f"Merge kind {n}") for n in range(MAX_QUERIES + 9)))
    kept, tried = pseudo_queries(graph, "s")
    assert len(kept) == tried == MAX_QUERIES
    assert len({query.capability for query in kept}) == MAX_QUERIES


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_file_gives_requests_that_pass(title: str, text: str) -> None:
    body = f"## {title}\n\n{text}\n\n- `{title[:9]}` (int, required): {text}\n"
    skill = make_skill("some-skill", text, body)
    graph = {c.name: c for c in parse_skill_graph(skill).capabilities}
    made = augment_by_rules(skill)
    assert made == augment_by_rules(skill)
    for query in made.queries:
        assert not problems(query, graph[query.capability])
        assert query.text.strip()


def test_quality_counts_what_passed_what_is_covered_and_what_repeats() -> None:
    queries = (PseudoQuery("a b c d", "one"), PseudoQuery("a b c", "one"))
    found = quality([Augmentation((), queries, 4, ("one", "two")), Augmentation((), (), 0, ())])
    assert found.exec_pass == 0.5
    assert found.func_coverage == 0.5
    assert found.distinct_3 == pytest.approx(2 / 3)
    assert (found.queries, found.tried) == (2, 4)
    nothing = quality([])
    assert (nothing.exec_pass, nothing.func_coverage, nothing.distinct_3) == (None, None, None)


def test_the_key_names_what_the_file_says() -> None:
    skill = make_skill("a", "b", "c")
    assert content_key(skill) == content_key(make_skill("a", "b", "c", id="other@place"))
    others = [make_skill("a", "b", "d"), make_skill("a", "x", "c"), make_skill("x", "b", "c")]
    assert len({content_key(s) for s in [skill, *others]}) == 4
