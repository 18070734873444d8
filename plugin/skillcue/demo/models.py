"""The models of the demonstration and of the examples: a real one, or the scripted one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from skillcue.extras import require
from skillcue_hooks.errors import ConfigurationError

require("langchain_core", "langchain-core", "langgraph")

from langchain_core.language_models import BaseChatModel

from skillcue.demo.scripted import ScriptedChatModel

__all__ = ["MODEL_ENV", "SCRIPTED_NOTICE", "chat_model", "llama_llm"]

MODEL_ENV = "SKILLCUE_DEMO_MODEL"
"""A string for LangChain's ``init_chat_model``, such as ``openai:gpt-5``."""
SCRIPTED_NOTICE = (
    f"{MODEL_ENV} is not set: a scripted model plays the agent. It loads what it is offered and "
    "names the first step; it does not think."
)


def chat_model(say: Callable[[str], object] = print) -> BaseChatModel:
    """The model that ``SKILLCUE_DEMO_MODEL`` names, or the scripted one, which is announced.

    Args:
        say: Told once, in one line, when the scripted model is used.

    Raises:
        ConfigurationError: The model cannot be set up: unknown provider, no package, no key.
        MissingExtraError: LangChain is not installed.
    """
    name = os.environ.get(MODEL_ENV, "").strip()
    if not name:
        say(SCRIPTED_NOTICE)
        return ScriptedChatModel()
    require("langchain.chat_models", "langchain", "langgraph")
    from langchain.chat_models import init_chat_model

    try:
        model: BaseChatModel = init_chat_model(name)
    except Exception as error:  # each provider has its own way to say that a key is missing
        raise ConfigurationError(
            f"{MODEL_ENV}={name} cannot be used: {error}",
            "Install the provider's package and set its key, or unset the variable.",
        ) from error
    return model


def llama_llm(model: BaseChatModel | None = None) -> Any:
    """The same model for LlamaIndex, as a ``FunctionCallingLLM``.

    Args:
        model: A LangChain chat model; None takes `chat_model`.

    Raises:
        MissingExtraError: LlamaIndex is not installed.
    """
    require("llama_index.core", "llama-index-core", "llamaindex")
    from skillcue.demo.bridge import LangChainLLM

    return LangChainLLM(model=model or chat_model())
