"""Counts that no call can have: said where they are made, not believed where they come in."""

from __future__ import annotations

import pytest
from support.asking_mode import openai_server

from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_adapters.language_models.backend import counted
from skillcue_hooks.errors import ConfigurationError, LanguageModelError
from skillcue_hooks.language import ChatMessage, Completion, Usage
from skillcue_hooks.testing import ScriptedLanguageModel

PRICES = {"ScriptedLanguageModel": (1.0, 1.0)}
NO_COUNTS = [-1, 1.5, "12", True, None, float("nan"), float("inf")]


def ask(model):
    return model.complete([ChatMessage("user", "x")], max_tokens=9, timeout_s=20)


@pytest.mark.parametrize("wrong", NO_COUNTS, ids=repr)
@pytest.mark.parametrize("name", ["calls", "input_tokens", "output_tokens"])
def test_a_usage_with_a_wrong_count_is_not_made(name, wrong):
    with pytest.raises(ConfigurationError, match=f"Usage: {name} is") as caught:
        Usage(**{name: wrong})
    assert "whole number of 0 or more" in caught.value.cure


@pytest.mark.parametrize("wrong", [-0.01, float("nan"), float("inf"), "1", True], ids=repr)
def test_a_usage_with_wrong_money_is_not_made(wrong):
    with pytest.raises(ConfigurationError, match="Usage: money is") as caught:
        Usage(money=wrong)
    assert caught.value.cure


def test_whole_money_and_no_money_are_fine():
    assert Usage(1, 2, 3, 4) + Usage(1, 2, 3, 4) == Usage(2, 4, 6, 8.0)
    assert (Usage(1, 2, 3, 4) + Usage(money=None)).money is None


def test_a_model_that_makes_a_wrong_usage_says_so_itself():
    inner = ScriptedLanguageModel([lambda _messages: Completion("yes", usage=Usage(1, -5, 0))])
    with pytest.raises(
        LanguageModelError, match=r"Usage: input_tokens is -5\. Give a whole number"
    ):
        ask(open_language_model(inner))


def altered(**fields):
    """A usage whose fields were changed past its checks."""
    usage = Usage(1, 10, 5, 0.5)
    for name, value in fields.items():
        object.__setattr__(usage, name, value)
    return usage


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"calls": 1},
        altered(calls=-1),
        altered(input_tokens=-1),
        altered(output_tokens="5"),
        Usage(1, 10**30, 5, None),
        Usage(10**30, 10, 5, None),
    ],
    ids=repr,
)
def test_a_count_that_cannot_be_is_estimated(usage):
    model = open_language_model(ScriptedLanguageModel([Completion("yes", usage=usage)] * 2))
    found = ask(model).usage
    assert (found.calls, found.estimated, found.money) == (1, True, None)
    assert 0 < found.input_tokens < 10
    assert model.usage == {"": found}


@pytest.mark.parametrize("money", [-1.0, float("nan"), float("inf"), 1e300, 10**400, "5"], ids=str)
def test_money_that_cannot_be_is_not_known(money):
    answer = Completion("yes", usage=altered(money=money))
    assert ask(open_language_model(ScriptedLanguageModel([answer]))).usage.money is None
    priced = open_language_model(ScriptedLanguageModel([answer]), prices=PRICES)
    assert ask(priced).usage.money == pytest.approx(15e-6)


@pytest.mark.parametrize("wrong", [*NO_COUNTS, 10**30], ids=repr)
def test_what_a_service_cannot_have_counted_is_no_count(wrong):
    assert counted(wrong, 5).calls == counted(5, wrong).calls == 0
    assert counted(0, 5) == Usage(1, 0, 5, None)


@pytest.mark.parametrize("wrong", [-1, 1.5, "12", True, 10**30], ids=repr)
def test_an_endpoint_that_counts_nonsense_is_estimated(wrong):
    body = {
        "choices": [{"message": {"content": "yes"}}],
        "usage": {"prompt_tokens": wrong, "completion_tokens": 3},
    }
    with openai_server(body) as server:
        usage = ask(open_language_model(f"openai:tiny@{server.url}")).usage
    assert (usage.calls, usage.estimated) == (1, True)
    assert 0 < usage.input_tokens < 10


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("text", None),
        (Completion(None), "a Completion whose text is a NoneType"),
        (Completion("", tool_calls=None), "tool_calls"),
        (Completion("", tool_calls=({"name": "search"},)), "tool_calls"),
    ],
    ids=repr,
)
def test_an_answer_of_another_form_is_none(answer, says):
    model = open_language_model(ScriptedLanguageModel([answer]), limits=CallLimits(tries=1))
    if says is None:
        assert ask(model).text == "text"
        return
    with pytest.raises(LanguageModelError, match=says) as caught:
        ask(model)
    assert "Completion(text, tool_calls, usage)" in caught.value.cure
