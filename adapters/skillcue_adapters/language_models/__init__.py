"""Language models: chat models of any framework behind one protocol, with limits and a meter.

===========================  =====================================================================
what is given                how it is called
===========================  =====================================================================
``openai:model@http://...``  any OpenAI-compatible endpoint (`.openai_endpoint`)
a ``BaseChatModel``          LangChain (`.langchain_chat`)
an ``LLM``                   LlamaIndex (`.llamaindex_chat`)
a function                   ``(system, prompt) -> str`` (`.functions`)
a `LanguageModel`            as it is (`.objects`)
===========================  =====================================================================

Every call has a time limit, is tried again when the failure may pass, and is counted. A call is
made in a thread with no context of the surrounding run, so nothing it says reaches that run's
stream.
"""

from __future__ import annotations

from skillcue_adapters.language_models.limits import CallLimits
from skillcue_adapters.language_models.metered import MeteredLanguageModel
from skillcue_adapters.language_models.spec import open_language_model

__all__ = ["CallLimits", "MeteredLanguageModel", "open_language_model"]
