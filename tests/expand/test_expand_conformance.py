"""Mode ``expand`` against the suite of all retrievers, over several bases."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from skillcue_adapters import bm25, dense, expand, hybrid, skillsight
from skillcue_hooks.contracts import Library, RetrieverContext
from skillcue_hooks.language import ChatMessage, Completion
from skillcue_hooks.protocols import Retriever, RetrieverFactory
from skillcue_hooks.testing import FakeEncoder, RetrieverConformance

FAKE = FakeEncoder(dim=256)
STAGES = {
    "bm25": bm25.build,
    "dense": dense.build,
    "hybrid": hybrid.build,
    "skillsight": skillsight.build,
}


class WordyModel:
    """Rewords whatever it is asked, the same way each time."""

    fingerprint = "wordy"
    calls_tools = False

    def complete(self, messages: Sequence[ChatMessage], **_: Any) -> Completion:
        found = re.search(r"<query>\n(.*?)\n</query>", messages[1].text, re.DOTALL)
        assert found
        words = json.loads(found[1]).split()[:40] or ["nothing"]
        turned = " ".join(words[::-1])
        return Completion(json.dumps({"variants": [f"please {turned} soup", f"how to {turned}"]}))


class TestExpand(RetrieverConformance):
    @pytest.fixture
    def factory(self) -> RetrieverFactory:
        def build(library: Library, context: RetrieverContext) -> Retriever:
            return expand.build(library, self._full(context))

        return build

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {}

    @pytest.fixture
    def other_settings(self) -> Mapping[str, Any]:
        return {"seeds": 2}

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        """Every skill has some similarity to every query."""
        return None

    def first_stage(self, library: Library, mode: str) -> Retriever:
        context = RetrieverContext(mode, {}, None, lambda other: self.first_stage(library, other))
        return STAGES[mode](library, self._full(context))

    def _full(self, context: RetrieverContext) -> RetrieverContext:
        return replace(context, encoder=lambda spec: FAKE, language_model=WordyModel())


class TestExpandShallow(TestExpand):
    """Most of every ranking lies beyond the fused part."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"top": 2, "depth": 3}


class TestExpandLexical(TestExpand):
    """Skills match that share no word with the query."""

    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"base": "bm25"}

    @pytest.fixture
    def unmatched_query(self) -> str | None:
        return "zxqvj kwpfh"


class TestExpandHybrid(TestExpand):
    @pytest.fixture
    def settings(self) -> Mapping[str, Any]:
        return {"base": "hybrid"}
