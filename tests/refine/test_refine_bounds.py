"""A refinement near its bounds: what was paid for is handed in, whichever bound comes first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.refining import BODY, TASK, command, draft, finish

from skillcue_adapters.bm25 import build as build_bm25
from skillcue_adapters.language_models import open_language_model
from skillcue_adapters.refine.commands import Commands
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.refine.store import Refinement
from skillcue_adapters.refine.subagent import refine_task
from skillcue_hooks import Completion, RetrieverContext, ToolCall, Usage
from skillcue_hooks.language import ChatMessage, ToolSpec
from skillcue_hooks.testing import make_library, make_skill

STEP = "Open the quarterly pdf report number {n} and copy its table {n} into the workbook.\n"
LARGE = tuple(
    make_skill(
        f"pdf-report-{n}",
        f"Extract the tables of pdf report {n} and merge them. " + "Use it for reports. " * 9,
        "".join(STEP.format(n=f"{n}-{line}") for line in range(280)),
    )
    for n in range(10)
)
IDS = [skill.id for skill in LARGE]
LONG_BODY = BODY * 40  # what a model hands in: about 700 tokens


class Model:
    """Does what it is scripted to do and counts nothing, so that everything is estimated.

    Args:
        act: From the newest message and the number of the request, an answer.
        calls_tools: It is given tools, and its answers are tool calls.
    """

    fingerprint = "scripted"

    def __init__(self, act: Callable[[str, int], Any], *, calls_tools: bool = True) -> None:
        self._act = act
        self.calls_tools = calls_tools
        self.asked: list[tuple[ChatMessage, ...]] = []
        self.offered: list[list[str]] = []
        self.longest: list[int] = []

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        self.asked.append(tuple(messages))
        self.offered.append([tool.name for tool in tools])
        self.longest.append(max_tokens)
        said = self._act(messages[-1].text, len(self.asked) - 1)
        if isinstance(said, Completion):
            return said
        items = said if isinstance(said, list) else [said]
        if not self.calls_tools:
            return Completion(f"[{', '.join(items)}]")
        calls = []
        for n, item in enumerate(map(json.loads, items)):
            name = item.pop("command")
            calls.append(ToolCall(f"c{len(self.asked)}-{n}", name, item))
        return Completion("", tuple(calls))

    @property
    def told(self) -> list[str]:
        """The newest message of each request."""
        return [messages[-1].text for messages in self.asked]


def refined(model: Any, clock: Callable[[], float] = lambda: 0.0, **settings: Any) -> Refinement:
    """What comes of it, with `settings` besides the defaults."""
    library = make_library(LARGE)

    def retriever(mode: str) -> Any:
        return build_bm25(library, RetrieverContext("bm25", {}, None, retriever))

    bounds = RefineSettings(**settings)
    commands = Commands(library, retriever, None, bounds)
    return refine_task(TASK, model, commands, bounds, clock)


def plan() -> list[str]:
    """Ten commands: two searches, four large skills of two pages each."""
    pages = [command("detail", skill=i, page=page) for i in IDS[:4] for page in (1, 2)]
    return [command("hybrid", query="pdf tables"), command("keyword", query="merge"), *pages]


def eager(told: str, place: int) -> str:
    """One command a request for as long as it is let; then a skill of a good length."""
    if "Finish now" in told or place == 10:
        return finish(draft("pdf-report", IDS[0], body=LONG_BODY))
    return plan()[place]


def at_once(told: str, place: int) -> Any:
    """All ten commands, several in one answer."""
    rounds = [plan()[:2], plan()[2:6], plan()[6:]]
    return rounds[place] if place < 3 else finish(draft("pdf-report", *IDS[:4], body=LONG_BODY))


@pytest.mark.parametrize("tools", [False, True], ids=["json", "tools"])
@pytest.mark.parametrize("act", [eager, at_once])
def test_large_skills_and_all_commands_end_in_a_skill(act: Any, tools: bool) -> None:
    model = Model(act, calls_tools=tools)
    metered = open_language_model(model)  # counts tools and all, apart from the budget
    made = refined(metered)
    assert made.failure is None
    assert made.skills[0].body.startswith(LONG_BODY.strip()[:500])
    usage = metered.usage[""]
    assert usage.input_tokens + usage.output_tokens <= 30_000
    assert model.longest[-1] == 4_000  # a full answer had room
    if act is at_once:
        assert len(made.steps) == 11
        assert all("no room" not in step.result for step in made.steps)


def test_a_page_that_is_cut_says_how_much_of_it_there_is() -> None:
    model = Model(at_once)
    made = refined(model)
    pages = [m.text for m in model.asked[-1] if m.text.startswith("<skill ")]
    assert len(pages) == 8
    cut = [page for page in pages if ' shown="' in page]
    assert cut
    assert all(page.splitlines()[0].endswith(' of 8000 characters">') for page in cut)
    assert all("</skill>" in page for page in pages)
    assert sum(" of 8000 characters)" in step.result for step in made.steps) == len(cut)


@pytest.mark.parametrize("tools", [False, True], ids=["json", "tools"])
def test_results_lose_their_descriptions_before_a_page_loses_text(tools: bool) -> None:
    model = Model(eager, calls_tools=tools)
    refined(model)
    said = "\n".join(message.text for message in model.asked[-1])
    assert "Use it for reports." in model.told[1]
    assert said.count("<results") == 2
    assert said.count('8. id="pdf-report-') == 2  # the ids stay, to be read
    results = said[said.index("<results") : said.index("<skill ")]
    assert "Use it for reports." not in results


def test_what_is_left_of_every_bound_is_told_each_time() -> None:
    now = [0.0]

    def slowly(told: str, place: int) -> str:
        now[0] += 4.0
        return eager(told, place)

    model = Model(slowly)
    assert refined(model, lambda: now[0]).failure is None
    assert "about 30000 tokens and 60 s" in model.asked[0][0].text
    assert "one answer of at most 4000 tokens" in model.asked[0][0].text
    notes = [told.splitlines()[-1] for told in model.told[1:]]
    assert notes[0].startswith("(9 commands left, about 2")
    assert notes[0].endswith(" tokens, about 55 s)")
    assert notes[1].startswith("(8 commands left, about 2")
    assert notes[1].endswith(" tokens, about 50 s)")
    tokens = [int(note.split(" tokens")[0].split()[-1]) for note in notes[:-1]]
    assert tokens == sorted(tokens, reverse=True)
    assert len(set(tokens)) == len(tokens)
    assert notes[-1].startswith("Finish now, ")
    assert notes[-1].endswith("it would take more than 30000 tokens.")


def test_the_last_command_is_answered_and_only_finishing_is_offered() -> None:
    model = Model(eager)
    made = refined(model, commands=3)
    assert made.failure is None
    assert [step.command for step in made.steps] == ["hybrid", "keyword", "detail", "finish"]
    assert "it would take more than 3 commands." in model.told[3]
    assert model.told[3].startswith("<skill ")
    assert [len(names) for names in model.offered] == [5, 5, 5, 1]
    assert model.offered[3] == ["finish"]


def test_it_is_told_to_finish_while_there_is_time_for_it() -> None:
    now = [0.0]

    def slowly(told: str, place: int) -> str:
        now[0] += 12.0
        return eager(told, place) if place else plan()[2]

    model = Model(slowly)
    made = refined(model, lambda: now[0])
    assert made.failure is None
    assert "it would take more than 60 s." in model.told[-1]
    assert now[0] == 48.0  # the last began with 24 s left: no other call of 12 s and 15 s to finish


def test_money_is_kept_for_the_end() -> None:
    model = Model(eager)
    metered = open_language_model(model, prices={"Model": (2.0, 10.0)})
    made = refined(metered, money=0.03)
    assert made.failure is None
    spent = metered.usage[""].money
    assert spent is not None
    assert 0.01 < spent <= 0.03
    assert "it would cost more than 0.03." in model.told[-1]


DEAR = {
    "no money": ({"money": 0.0}, (2.0, 10.0)),
    "dear to send": ({"money": 0.01}, (100.0, 0.0)),
    "dear to receive": ({"money": 0.01}, (0.0, 1_000.0)),
}


@pytest.mark.parametrize(("bounds", "price"), DEAR.values(), ids=list(DEAR))
def test_money_that_not_even_the_first_answer_costs_asks_nobody(
    bounds: dict[str, float], price: tuple[float, float]
) -> None:
    model = Model(eager)
    made = refined(open_language_model(model, prices={"Model": price}), **bounds)
    assert made.failure == f"it would cost more than {bounds['money']:g} (setting `money`)"
    assert (model.asked, made.cost.calls) == ([], 0)


@pytest.mark.parametrize("prices", [None, {"Model": (0.0, 0.0)}], ids=["unknown", "free"])
def test_no_money_is_no_bound_where_nothing_is_known_to_cost(prices: Any) -> None:
    model = Model(eager)
    made = refined(open_language_model(model, prices=prices).for_mode("refine"), money=0.0)
    assert made.failure is None
    assert model.longest[0] == 4_000


def test_an_answer_is_as_long_as_the_money_pays_for() -> None:
    def act(told: str, place: int) -> Completion:
        if place == 0:
            read = ToolCall("a", "detail", {"skill": IDS[0]})
            return Completion("", (read,), Usage(1, 1_000, 50, None))
        broken = ToolCall("c", "finish", {}, invalid='{"skills": [{"name": "x", "bo')
        return Completion("", (broken,), Usage(1, 4_000, model.longest[-1], None))

    model = Model(act)
    made = refined(open_language_model(model, prices={"Model": (0.0, 100.0)}), money=0.1)
    assert model.longest == [750, 700, 249]  # a quarter is kept, and rounded down
    assert "cut off at 249 tokens (setting `money`)" in str(made.failure)


@pytest.mark.parametrize("factor", [0.5, 1.3, 2.5])
def test_it_learns_how_the_model_counts(factor: float) -> None:
    def counting(told: str, place: int) -> Completion:
        sent = sum(len(m.text) for m in model.asked[-1]) / 4 + 300
        item = json.loads(eager(told, place))
        call = ToolCall(f"c{place}", item.pop("command"), item)
        return Completion("", (call,), Usage(1, int(sent * factor), int(60 * factor), None))

    model = Model(counting)
    made = refined(model)
    assert made.failure is None
    assert made.cost.input_tokens + made.cost.output_tokens <= 30_000
    assert set(model.longest) == {4_000}  # a full answer had room each time


def stubborn(times: int) -> Callable[[str, int], str]:
    """Goes on after it was told to finish, so many times."""
    told_to: list[str] = []

    def act(told: str, place: int) -> str:
        if "finish now" in told.lower():
            told_to.append(told)
        return finish(draft("x", IDS[0])) if len(told_to) > times else plan()[place]

    return act


@pytest.mark.parametrize("tools", [False, True], ids=["json", "tools"])
def test_a_model_that_goes_on_once_still_hands_in(tools: bool) -> None:
    model = Model(stubborn(1), calls_tools=tools)
    made = refined(model)
    assert made.failure is None
    assert made.cost.input_tokens + made.cost.output_tokens <= 30_000
    before, after = model.asked[-2], model.asked[-1]
    assert after[:2] == before[:2]
    pages = [m.text for m in after if m.text.startswith("<skill ")]
    assert len(pages) == 3  # of each the beginning is left
    assert all("\n| Open the quarterly pdf report" in page for page in pages)
    assert all("the rest was taken out" in page for page in pages)
    assert "Error: not run. Call finish now." in model.told[-1]


def test_tools_are_counted_with_every_request() -> None:
    metered = open_language_model(Model(eager))
    refined(metered, commands=3)
    counted, own = metered.usage[""], refined(Model(eager), commands=3).cost
    assert own.estimated
    assert abs(own.input_tokens - counted.input_tokens) < 300  # the tools are 279 each time


def test_a_model_that_goes_on_twice_is_given_up() -> None:
    assert refined(Model(stubborn(2))).failure == (
        "it would take more than 30000 tokens (setting `tokens`)"
    )


@pytest.mark.parametrize("tools", [False, True], ids=["json", "tools"])
def test_a_malformed_end_can_be_put_right_near_the_bound(tools: bool) -> None:
    wrong, right = (draft(name, IDS[0], body=LONG_BODY) for name in ("Not A Name", "a-name"))
    ends = iter([finish(wrong), finish(right)])

    def act(told: str, place: int) -> str:
        closing = "Finish now" in told or "finish again" in told
        return next(ends) if closing else plan()[place]

    made = refined(Model(act, calls_tools=tools))
    assert made.failure is None
    assert made.skills[0].name == "a-name"
    assert made.cost.input_tokens + made.cost.output_tokens <= 30_000


def test_without_anything_read_the_bound_is_the_reason() -> None:
    def searching(told: str, place: int) -> str:
        return finish() if "Finish now" in told else plan()[0]

    assert refined(Model(searching), commands=5).failure == (
        "it would take more than 5 commands (setting `commands`)"
    )
    assert refined(Model(searching), tokens=3_000).failure == (
        "it would take more than 3000 tokens (setting `tokens`)"
    )


def test_a_bound_that_not_even_the_task_fits_in_asks_nobody() -> None:
    model = Model(eager)
    assert refined(model, tokens=300).failure == (
        "it would take more than 300 tokens (setting `tokens`)"
    )
    assert model.asked == []


def test_an_answer_that_was_cut_off_is_called_that() -> None:
    def act(told: str, place: int) -> Any:
        if place == 0:
            return plan()[2]
        if place == 1:
            broken = ToolCall("c", "finish", {}, invalid='{"skills": [{"name": "x", "bo')
            return Completion("", (broken,), Usage(1, 3_000, 2_000, None))
        return finish(draft("x", IDS[0]))

    model = Model(act)
    assert refined(model, answer_tokens=2_000).failure is None
    assert "cut off at 2000 tokens (setting `answer_tokens`); write less" in model.told[2]


def test_a_search_waits_for_a_share_of_the_time_left() -> None:
    now, waited = [0.0], []
    library = make_library(LARGE)

    def retriever(mode: str) -> Any:
        found = build_bm25(library, RetrieverContext("bm25", {}, None, retriever))
        found.wait_ready = lambda timeout: waited.append(timeout) or True  # type: ignore[method-assign]
        return found

    def act(told: str, place: int) -> str:
        now[0] += 10.0
        return plan()[place] if place < 2 else finish()

    bounds = RefineSettings()
    commands = Commands(library, retriever, None, bounds)
    refine_task(TASK, Model(act), commands, bounds, lambda: now[0])
    assert waited == [12.5, 10.0]


ACTIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(plan()), min_size=1, max_size=4),
        st.sampled_from([0, 0, 0, 100, 2_000, 16_000]),  # characters of thinking beside the call
    ),
    min_size=1,
    max_size=12,
)


PAGE, SEARCH = plan()[2], plan()[0]


@settings(deadline=None, max_examples=30)
@given(ACTIONS, st.booleans(), st.sampled_from([6_000, 12_000, 30_000, 60_000]))
@example([([PAGE], 0), ([SEARCH], 16_000), ([SEARCH], 0)], False, 12_000)  # cuts reach the newest
@example([([PAGE], 0), ([SEARCH], 16_000), ([SEARCH], 0)], True, 12_000)
def test_whatever_it_does_it_hands_in_within_the_tokens(
    actions: list[tuple[list[str], int]], tools: bool, tokens: int
) -> None:
    """By a model that keeps to the longest answer, and finishes when it is told to."""

    def act(told: str, place: int) -> Any:
        if "finish now" in told.lower() or place >= len(actions):
            room = max(4 * model.longest[-1] - 1_200, 1)
            return finish(draft("x", *IDS, body=LONG_BODY[:room]))
        items, thinking = actions[place]
        said = " ".join(["so"] * (thinking // 3))[: max(model.longest[-1] - 300, 0) * 4]
        if not tools:
            return Completion(f"{said}[{', '.join(items)}]")
        calls = [json.loads(item) for item in items]
        return Completion(
            said,
            tuple(ToolCall(f"{place}-{n}", c.pop("command"), c) for n, c in enumerate(calls)),
        )

    model = Model(act, calls_tools=tools)
    made = refined(model, tokens=tokens)
    assert made.cost.input_tokens + made.cost.output_tokens <= tokens
    assert made.skills or not made.read


PRICES = st.sampled_from([(1.0, 1.0), (2.0, 10.0), (0.5, 50.0), (10.0, 0.0), (0.0, 20.0)])


@settings(deadline=None, max_examples=30)
@given(ACTIONS, PRICES, st.sampled_from([0.004, 0.01, 0.03, 0.1]))
def test_whatever_it_does_it_costs_no_more_than_the_money(
    actions: list[tuple[list[str], int]], price: tuple[float, float], money: float
) -> None:
    """By a model that keeps to the longest answer, and finishes when it is told to."""

    def act(told: str, place: int) -> Completion:
        ends = "finish now" in told.lower() or place >= len(actions)
        items, thinking = ([finish(draft("x", *IDS))], 0) if ends else actions[place]
        calls = [json.loads(item) for item in items]
        said = " ".join(["so"] * (thinking // 3))[: max(model.longest[-1] - 300, 0) * 4]
        made = [ToolCall(f"{place}-{n}", c.pop("command"), c) for n, c in enumerate(calls)]
        return Completion(said, tuple(made) if ends or model.longest[-1] > 300 else ())

    model = Model(act)
    metered = open_language_model(model, prices={"Model": price})
    refined(metered, money=money)
    spent = metered.usage.get("", Usage()).money
    assert spent is not None
    assert spent <= money
