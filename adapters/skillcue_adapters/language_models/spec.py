"""One text or object names a language model: `open_language_model`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from skillcue_adapters.language_models.backend import Backend
from skillcue_adapters.language_models.functions import FunctionBackend
from skillcue_adapters.language_models.limits import CallLimits
from skillcue_adapters.language_models.metered import MeteredLanguageModel
from skillcue_adapters.language_models.objects import ObjectBackend, is_language_model
from skillcue_adapters.language_models.prices import price_of
from skillcue_hooks.errors import ConfigurationError

__all__ = ["open_language_model"]

_FORMS = (
    'Pass "openai:MODEL@http://host:port/v1", a LangChain chat model, a LlamaIndex LLM, a function '
    "(system, prompt) -> str, or a skillcue_hooks.LanguageModel."
)


def open_language_model(
    model: Any, *, prices: Mapping[str, Any] | None = None, limits: CallLimits | None = None
) -> MeteredLanguageModel:
    """The language model that `model` names or is. Nothing is sent until it is asked.

    Args:
        model: See the table in `skillcue_adapters.language_models`; one that was opened before is
            returned as it is.
        prices: Name of a model to money for a million tokens in and out.
        limits: Time, tries and calls at once.

    Raises:
        ConfigurationError: It is nothing of that kind, the spec or the table is malformed, or the
            table does not know the model.
    """
    if isinstance(model, MeteredLanguageModel):
        if prices is not None or limits is not None:
            raise ConfigurationError(
                "The language model has limits and prices already.",
                "Pass both to open_language_model, where it was opened.",
            )
        return model
    if limits is not None and not isinstance(limits, CallLimits):
        raise ConfigurationError(f"limits is a {type(limits).__name__}.", "Pass CallLimits(...).")
    backend = _backend(model)
    return MeteredLanguageModel(backend, limits, price_of(backend.name, prices))


def _backend(model: Any) -> Backend:
    if isinstance(model, str):
        return _named(model)
    if isinstance(model, type):
        raise ConfigurationError(
            f"llm is the class {model.__name__}.", f"Pass an object: {model.__name__}(...)."
        )
    if is_language_model(model):
        return ObjectBackend(model)
    if _is_a(model, "langchain_core.language_models.chat_models", "BaseChatModel"):
        from skillcue_adapters.language_models.langchain_chat import LangChainBackend

        return LangChainBackend(model)
    if _is_a(model, "llama_index.core.llms.llm", "LLM"):
        from skillcue_adapters.language_models.llamaindex_chat import LlamaIndexBackend

        return LlamaIndexBackend(model)
    if _is_a(model, "langchain_core.runnables", "Runnable"):
        raise ConfigurationError(
            f"llm is a {type(model).__name__}, a chain around a model.",
            "Pass the chat model itself, before .bind_tools(...), | or .with_...(...).",
        )
    if callable(model):
        return FunctionBackend(model)
    raise ConfigurationError(f"A {type(model).__name__} is no language model.", _FORMS)


def _named(spec: str) -> Backend:
    scheme, _, argument = spec.partition(":")
    if scheme != "openai":
        raise ConfigurationError(
            f"Unknown language model {scheme!r}.",
            "Write openai:MODEL@http://host:port/v1, or pass a chat model, an LLM or a function.",
        )
    from skillcue_adapters.language_models.openai_endpoint import OpenAiBackend

    return OpenAiBackend(argument)


def _is_a(value: object, module: str, name: str) -> bool:
    """Whether `value` is an instance of a framework's class; without importing the framework,
    which is imported already where that is so.
    """
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
