"""What is no language model, and what no price table, is said when `SkillCue` is built."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.asking_mode import AskingModes

from skillcue import SkillCue
from skillcue_adapters.language_models import CallLimits, open_language_model
from skillcue_hooks.errors import ConfigurationError, UnknownSettingError
from skillcue_hooks.language import Usage
from skillcue_hooks.testing import ScriptedLanguageModel


class Unnamed(ScriptedLanguageModel):
    def __init__(self):
        super().__init__([])
        self.fingerprint = ""


async def coroutine(system, prompt):
    return "x"


def one_argument(prompt):
    return prompt


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
        ("openai:m@ftp://host/v1", "The endpoint in llm"),
        ("openai:m@http://", "The endpoint in llm"),
        ("openai:m@http://127.0.0.1/v1?keys=A", "'keys'"),
        ("openai:m@http://127.0.0.1/v1?temperature=hot", "temperature"),
        ("openai:m@http://127.0.0.1/v1?temperature=3", "temperature"),
        ("openai:m@http://127.0.0.1/v1?key_env=NO_SUCH_KEY", "NO_SUCH_KEY is not set"),
        ("openai:gpt-5", "OPENAI_API_KEY is not set"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_model_is_said_at_once_with_a_cure(example_skills, monkeypatch, wrong, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match=says) as caught:
        SkillCue(example_skills, llm=wrong)
    assert caught.value.cure


def test_a_password_in_the_address_is_refused_and_not_repeated():
    with pytest.raises(ConfigurationError) as caught:
        open_language_model("openai:m@http://user:hunter2@host/v1")
    assert "hunter2" not in str(caught.value)


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
