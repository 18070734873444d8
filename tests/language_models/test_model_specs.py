"""What is no language model, and what no price table, is said when `SkillCue` is built."""

from __future__ import annotations

import functools
import subprocess
import sys
import traceback
from typing import Any

import pytest
from support.asking_mode import AskingModes, openai_server

from skillcue import SkillCue
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_adapters.language_models.openai_spec import read_endpoint
from skillcue_hooks.errors import ConfigurationError, LanguageModelError, UnknownSettingError
from skillcue_hooks.language import ChatMessage, Usage
from skillcue_hooks.testing import ScriptedLanguageModel


class Unnamed(ScriptedLanguageModel):
    def __init__(self):
        super().__init__([])
        self.fingerprint = ""


async def coroutine(system, prompt):
    return "x"


def one_argument(prompt):
    return prompt


def generator(system, prompt):
    yield prompt


async def asynchronous_generator(system, prompt):
    yield prompt


def returns_none(system, prompt) -> None:
    pass


def returns_number(system, prompt) -> int:
    return 3


class CoroutineModel(ScriptedLanguageModel):
    async def complete(self, messages, *, tools=(), max_tokens, timeout_s):
        return super().complete(messages, max_tokens=max_tokens, timeout_s=timeout_s)


class OtherArguments(ScriptedLanguageModel):
    def complete(self, messages):
        return super().complete(messages, max_tokens=9, timeout_s=9)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (3, "int is no language model"),
        ([], "list is no language model"),
        (ScriptedLanguageModel, "class ScriptedLanguageModel"),
        (Unnamed(), "fingerprint"),
        (coroutine, "coroutine"),
        (one_argument, "other arguments"),
        ("gpt-5", "Unknown language model 'gpt-5'"),
        ("anthropic:claude", "Unknown language model 'anthropic'"),
        ("openai:", "openai:"),
        ("openai:m@ftp://host/v1", "no http:// or https://"),
        ("openai:m@http://", "host or port"),
        ("openai:m@http://127.0.0.1/v1?keys=A", "'keys'"),
        ("openai:m@http://127.0.0.1/v1?temperature=hot", "temperature"),
        ("openai:m@http://127.0.0.1/v1?temperature=3", "temperature"),
        ("openai:m@http://127.0.0.1/v1?key_env=NO_SUCH_KEY", "NO_SUCH_KEY is not set"),
        ("openai:gpt-5", "OPENAI_API_KEY is not set"),
        ("openai:m@http://127.0.0.1:99999/v1", "host or port"),
        ("openai:m@http://127.0.0.1:abc/v1", "host or port"),
        ("openai:m@http://127.0.0.1:0/v1", "host or port"),
        ("openai:m@http://127.0.0.1:-1/v1", "host or port"),
        ("openai:m@http://[::1/v1", "host or port"),
        ("openai:m@http://:8000/v1", "host or port"),
        ("openai:m@http://a..b/v1", "host or port"),
        ("openai:m@http://" + "a" * 64 + ".de/v1", "host or port"),
        ("openai:m@http://bücher.de/v1", "outside of ASCII"),
        ("openai:m@http://127.0.0.1/v1#x", "with #"),
        ("openai:m@http://127.0.0.1/v1/chat/completions", "added by itself"),
        ("openai:m@http://127.0.0.1/v1/chat/completions/", "added by itself"),
        ("openai:my model@http://127.0.0.1/v1", "holds a space"),
        ("openai:m@http://127.0.0.1 /v1", "holds a space"),
        ("openai: m@http://127.0.0.1/v1", "holds a space"),
        ("openai:m\x00@http://127.0.0.1/v1", "nobody sees"),
        ("openai:@http://127.0.0.1/v1", "names no model"),
        ("openai:http://127.0.0.1/v1", "names no model"),
        ("openai:m@localhost/v1", "without http://"),
        ("openai:m@127.0.0.1:8000/v1", "without http://"),
        ("openai:m@gpu.lan:8000", "without http://"),
        ("openai:m@", "without http://"),
        ("openai:m@http://127.0.0.1/v1?key_env=", "names no environment variable"),
        ("openai:m@http://127.0.0.1/v1?key_env=sk-abc", "names no environment variable"),
        (print, "print is a built-in of Python"),
        (eval, "eval is a built-in of Python"),
        (str, "class str"),
        (generator, "returns a generator"),
        (asynchronous_generator, "returns an asynchronous generator"),
        (returns_none, "annotated to return None"),
        (returns_number, "annotated to return int"),
        (CoroutineModel([]), "complete.. of the CoroutineModel is a coroutine"),
        (OtherArguments([]), "complete.. of the OtherArguments takes other arguments"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_model_is_said_at_once_with_a_cure(example_skills, monkeypatch, wrong, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match=says) as caught:
        SkillCue(example_skills, llm=wrong)
    assert caught.value.cure


@pytest.mark.parametrize(
    "spec",
    [
        "m@http://user:hunter2@host/v1",
        "m@http://user:hunter2@host:99999/v1",
        "m@http://user:hunter2 @host/v1",
        "m@http://user:1?hunter2@host/v1",
        "@http://user:hunter2@host/v1",
        "m@ftp://user:hunter2@host/v1",
        "m@http://host/v1?key_env=sk-hunter2",
        "m@http://host/v1?key_env=sk_hunter2",
        "m@http://host/v1?key_env=hunter2_9",
    ],
)
def test_a_password_or_a_key_in_the_spec_is_refused_and_not_repeated(spec):
    with pytest.raises(ConfigurationError) as caught:
        open_language_model(f"openai:{spec}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "model", "url"),
    [
        ("m@http://127.0.0.1/v1/", "m", "http://127.0.0.1/v1"),
        ("qwen3:4b@http://localhost:11434/v1", "qwen3:4b", "http://localhost:11434/v1"),
        ("@cf/a/b@https://x.example/v1", "@cf/a/b", "https://x.example/v1"),
        ("claude@20240620@http://[::1]:8000/v1", "claude@20240620", "http://[::1]:8000/v1"),
        ("org/m@http://h_1/v1?temperature=0", "org/m", "http://h_1/v1"),
    ],
)
def test_specs_that_are_fine(spec, model, url):
    found = read_endpoint(spec)
    assert (found.model, found.url) == (model, url)


def test_functions_that_may_return_a_text_are_taken():
    def honest(system: str, prompt: str) -> str:
        return prompt

    def unsure(system, prompt) -> Any:
        return prompt

    def written(system, prompt) -> str | None:
        return prompt

    def numbers(system, prompt) -> int:
        return 3

    @functools.wraps(numbers)
    def as_text(system, prompt):
        return str(numbers(system, prompt))

    for function in (honest, unsure, written, as_text, functools.partial(honest), "{}{}".format):
        assert open_language_model(function).complete(
            [ChatMessage("user", "x")], max_tokens=9, timeout_s=20
        )


def test_a_key_with_a_line_break_is_not_sent_and_not_shown(monkeypatch):
    with openai_server({"choices": [{"message": {"content": "yes"}}]}) as server:
        model = open_language_model(f"openai:m@{server.url}")
        monkeypatch.setenv("OPENAI_API_KEY", " sk-key\n")
        ask = functools.partial(
            model.complete, [ChatMessage("user", "x")], max_tokens=9, timeout_s=20
        )
        assert ask().text == "yes"
        for wrong in ("sk-SECRET\nX: y", "sk-SECRET…"):
            monkeypatch.setenv("OPENAI_API_KEY", wrong)
            with pytest.raises(LanguageModelError, match="OPENAI_API_KEY holds") as caught:
                ask()
            assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    assert server.keys == ["Bearer sk-key"]


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        {"ScriptedLanguageModel": 3},
        {"ScriptedLanguageModel": (1,)},
        {"ScriptedLanguageModel": (1, -1)},
        {"ScriptedLanguageModel": (1, float("nan"))},
        {"ScriptedLanguageModel": (1, "2")},
        {"ScriptedLanguageModel": "12"},
        {"ScriptedLanguageModel": (True, 1)},
        {"ScriptedLanguageModel": (float("inf"), 1)},
        {"ScriptedLanguageModel": (10**400, 1)},
        {"ScriptedLanguageModel": (1, 1e13)},
        {"ScriptedLanguageModel": {"input": 1, "output": 1}},
        {"ScriptedLanguageModel": (1, 1, 1)},
        {"ScriptedLanguageModel": None},
        {"ScriptedLanguageModel": (1, 1), "another": (1, -1)},
        [("ScriptedLanguageModel", (1, 1))],
        {3: (1, 1)},
        {},
        {"another": (1, 1)},
    ],
    ids=str,
)
def test_a_wrong_price_table_is_said_at_once(example_skills, wrong):
    with pytest.raises(ConfigurationError) as caught:
        SkillCue(example_skills, llm=ScriptedLanguageModel([]), prices=wrong)
    assert caught.value.cure


def test_prices_without_a_model_are_a_mistake(example_skills):
    with pytest.raises(ConfigurationError, match="without a language model"):
        SkillCue(example_skills, prices={"m": (1, 1)})


def test_a_model_that_is_open_has_its_limits_already():
    model = open_language_model(ScriptedLanguageModel([]), limits=CallLimits(tries=1))
    with pytest.raises(ConfigurationError, match="already"):
        open_language_model(model, prices={"m": (1, 1)})
    with pytest.raises(ConfigurationError, match="limits"):
        open_language_model(ScriptedLanguageModel([]), limits=3)


def test_a_misspelt_keyword_is_told(example_skills):
    with pytest.raises(UnknownSettingError, match="llm"):
        SkillCue(example_skills, lm=ScriptedLanguageModel([]))


def test_modes_share_the_model_and_are_counted_apart(example_skills):
    inner = ScriptedLanguageModel(["a", "b", "c"])
    with SkillCue(example_skills, llm=inner, plugins=[AskingModes()]) as cue:
        first = cue.lookup("fill in a visa form", mode="asks")
        again = cue.lookup("fill in a visa form", mode="asks")
        cue.language_model("judge").complete([], max_tokens=1, timeout_s=5)
        assert first.cost == Usage(1, 10, 5, None)
        assert (again.cached, again.cost) == (True, Usage())
        assert cue.language_model_usage == {
            "asks": Usage(1, 10, 5, None),
            "judge": Usage(1, 10, 5, None),
        }


def test_without_a_model_there_is_none_and_nothing_is_loaded(example_skills):
    code = (
        "import sys; from skillcue import SkillCue;"
        f"cue = SkillCue({str(example_skills)!r}, mode='bm25'); cue.lookup('pdf');"
        "assert cue.language_model('x') is None and cue.language_model_usage == {};"
        "assert not {'tenacity', 'skillcue_adapters.language_models'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_costs_no_import_of_a_framework(example_skills):
    code = (
        "import sys; from skillcue import SkillCue;"
        f"cue = SkillCue({str(example_skills)!r}, llm='openai:m@http://127.0.0.1:9/v1');"
        "heavy = {'langchain_core', 'llama_index', 'numpy', 'tenacity'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
