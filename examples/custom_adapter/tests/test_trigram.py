"""The conformance suite that skillcue ships, on this package's retriever."""

import pytest
from skillcue_trigram.retriever import build, trigrams

from skillcue_hooks import Query, RetrieverContext
from skillcue_hooks.testing import RetrieverConformance, make_library, make_skill


class TestTrigram(RetrieverConformance):
    @pytest.fixture
    def factory(self):
        return build


def test_words_are_padded_with_blanks():
    assert trigrams("PDF") == {" pd", "pdf", "df "}


def test_typing_errors_are_forgiven():
    library = make_library(
        [make_skill("kubernetes-pod-debugging", "Find out why a pod does not start.")]
        + [make_skill(f"other-{i}", "Something else entirely.") for i in range(5)]
    )
    context = RetrieverContext("trigram", {}, None, lambda mode: None)
    hits = build(library, context).search(Query("kubernets pod debuging")).hits
    assert hits[0].skill.name == "kubernetes-pod-debugging"
