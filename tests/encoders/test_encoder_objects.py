"""Embedding objects of LangChain and LlamaIndex, and whatever looks like them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.encoders.objects import FrameworkEncoder
from skillcue_hooks import Encoder
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.testing import FakeEncoder


class WordCounts:
    """As LangChain spells it: not normalised, and refusing blank texts as services do."""

    def __init__(self, words=("pdf", "bread", "git"), **more):
        self.words = list(words)
        self.calls = 0
        self.__dict__.update(more)

    def embed_documents(self, texts):
        self.calls += 1
        if not all(text.strip() for text in texts):
            raise ValueError("input must not be empty")
        return [[1.0 + text.count(word) for word in self.words] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Spelt:
    """As LlamaIndex spells it."""

    def __init__(self, inner):
        self.inner = inner

    def get_text_embedding_batch(self, texts):
        return self.inner.embed_documents(texts)

    def get_query_embedding(self, query):
        return self.inner.embed_query(f"{query} git git git")


@pytest.fixture(params=["langchain", "llamaindex"])
def wrapped(request):
    counts = WordCounts()
    return open_encoder(counts if request.param == "langchain" else Spelt(counts), {})


def test_it_becomes_an_encoder_of_unit_rows(wrapped):
    assert isinstance(wrapped, Encoder)
    assert wrapped.dim == 3
    rows = wrapped.encode_documents(["fill in a pdf", "bake bread", "", "  "])
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 0])
    assert rows.argmax(axis=1)[:2].tolist() == [0, 1]


def test_blank_texts_alone_are_never_sent(wrapped):
    assert wrapped.encode_documents(["", "\n"]).shape == (2, 3)
    assert wrapped.encode_queries([]).shape == (0, 3)


def test_queries_go_through_the_objects_own_query_method():
    encoder = open_encoder(Spelt(WordCounts()), {})
    assert encoder.encode_queries(["a pdf"]).argmax() == 2
    assert encoder.encode_documents(["a pdf"]).argmax() == 0


def test_an_encoder_is_taken_as_it_is():
    encoder = FakeEncoder()
    assert open_encoder(encoder, {}) is encoder


def test_langchain_embeddings():
    fake = pytest.importorskip("langchain_core.embeddings").DeterministicFakeEmbedding
    encoder = open_encoder(fake(size=16), {})
    rows = encoder.encode_documents(["one", "two"])
    assert rows.shape == (2, 16)
    own = np.array(fake(size=16).embed_query("one"))
    assert np.allclose(encoder.encode_queries(["one"])[0], own / np.linalg.norm(own), atol=1e-6)
    assert encoder.fingerprint == open_encoder(fake(size=16), {}).fingerprint
    assert encoder.fingerprint != open_encoder(fake(size=17), {}).fingerprint


def test_llamaindex_embeddings():
    mock = pytest.importorskip("llama_index.core.embeddings").MockEmbedding
    encoder = open_encoder(mock(embed_dim=8), {})
    assert encoder.dim == 8
    assert np.allclose(encoder.encode_documents(["one"]), 8**-0.5)
    assert np.allclose(encoder.encode_queries(["one"]), 8**-0.5)
    assert encoder.fingerprint == open_encoder(mock(embed_dim=8), {}).fingerprint
    others = [mock(embed_dim=9), mock(embed_dim=8, model_name="other")]
    assert len({encoder.fingerprint, *(open_encoder(o, {}).fingerprint for o in others)}) == 3


def test_frameworks_are_not_imported():
    code = (
        "import sys\n"
        "from skillcue_adapters.encoders import open_encoder\n"
        "class E:\n"
        "    def embed_documents(self, texts): return [[3.0, 4.0]] * len(texts)\n"
        "    def embed_query(self, text): return [3.0, 4.0]\n"
        "print(open_encoder(E(), {}).encode_queries(['x']).tolist())\n"
        "print(sorted({'langchain_core', 'llama_index', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[1] == "[]"
    assert np.allclose(eval(done.stdout.split("\n")[0]), [[0.6, 0.8]])


@dataclass
class Options:
    pooling: str = "mean"


class Client:
    """Something opaque that an object holds; what it does is told by its model name."""

    def __init__(self, model_name="small", address="10.0.0.1"):
        self.model_name = model_name
        self.address = address
        self.lock = threading.Lock()


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def embed_documents(self, texts):
        return [[self.scale, 1.0]] * len(texts)

    def embed_query(self, text):
        return [self.scale, 1.0]


@dataclass
class Cached:
    """A wrapper, as caches of embeddings are."""

    underlying: WordCounts
    hits: list = field(default_factory=list)

    def embed_documents(self, texts):
        return self.underlying.embed_documents(texts)

    def embed_query(self, text):
        return self.underlying.embed_query(text)


def name(**more):
    return open_encoder(WordCounts(**more), {}).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"words": ("a",)}, {"words": ("b",)}),
        ({"model": "a"}, {"model": "b"}),
        ({"scale": 1}, {"scale": 1.0}),
        ({"scale": float("inf")}, {"scale": float("-inf")}),
        ({"options": Options()}, {"options": Options("cls")}),
        ({"kwargs": {"normalize": True}}, {"kwargs": {"normalize": False}}),
        ({"stops": {"a", "b"}}, {"stops": {"a"}}),
        ({"matrix": np.eye(3)}, {"matrix": np.eye(3) * 2}),
        ({"matrix": np.zeros(4)}, {"matrix": np.zeros((2, 2))}),
        ({"raw": b"a"}, {"raw": b"b"}),
        ({"path": Path("a")}, {"path": Path("b")}),
        ({"client": Client()}, {"client": Client("large")}),
        ({"inner": WordCounts()}, {"inner": WordCounts(("x",))}),
        ({"pool": max}, {"pool": min}),
        ({"prompt": None}, {}),
    ],
)
def test_what_changes_a_vector_changes_the_fingerprint(one, other):
    assert name(**one) != name(**other)
    assert name(**one) == name(**one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"api_key": "a"}, {"api_key": "b"}),
        ({"openai_api_key": "a"}, {"openai_api_key": "b"}),
        ({"headers": {"Authorization": "a"}}, {"headers": {"Authorization": "b"}}),
        ({"client": Client(address="10.0.0.1")}, {"client": Client(address="10.0.0.2")}),
        ({"lock": threading.Lock()}, {"lock": threading.Lock()}),
        ({"stops": {"a", "b", "c"}}, {"stops": {"c", "b", "a"}}),
    ],
)
def test_what_changes_no_vector_leaves_the_fingerprint(one, other):
    assert name(**one) == name(**other)


def test_the_class_and_slots_and_inner_models_count():
    found = [
        WordCounts(),
        Spelt(WordCounts()),
        Cached(WordCounts()),
        Cached(WordCounts(("x",))),
        Slotted(1.0),
        Slotted(2.0),
    ]
    assert len({open_encoder(each, {}).fingerprint for each in found}) == len(found)


def test_an_object_that_holds_itself_has_a_fingerprint():
    knot = WordCounts()
    knot.inner = knot
    assert open_encoder(knot, {}).fingerprint


def test_the_fingerprint_stays_while_the_object_counts():
    counts = WordCounts()
    encoder = open_encoder(counts, {})
    before = encoder.fingerprint
    encoder.encode_documents(["a", "b"])
    assert counts.calls > 0
    assert encoder.fingerprint == before


def test_a_given_fingerprint_takes_the_place_of_the_description():
    one, other = (FrameworkEncoder(WordCounts((w,)), fingerprint="mine") for w in "ab")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != FrameworkEncoder(WordCounts(("a",)), fingerprint="yours").fingerprint


def test_it_can_be_pickled_when_the_object_can():
    encoder = open_encoder(WordCounts(), {})
    other = pickle.loads(pickle.dumps(encoder))
    assert other.fingerprint == encoder.fingerprint
    assert np.array_equal(other.encode_queries(["git"]), encoder.encode_queries(["git"]))


@pytest.mark.parametrize("value", [None, 3, {"model": "x"}, Path("/models/x"), print])
def test_what_is_no_encoder_is_refused(value):
    with pytest.raises(ConfigurationError, match="no encoder"):
        open_encoder(value, {})


@pytest.mark.parametrize("kind", [WordCounts, FakeEncoder])
def test_a_class_is_refused(kind):
    with pytest.raises(ConfigurationError, match=rf"Pass an object: {kind.__name__}\(\)"):
        open_encoder(kind, {})


@pytest.mark.parametrize(
    "answer",
    [[[1.0, 2.0, 3.0]], [[1.0, 2.0]] * 2, [[1.0, 2.0, 3.0], [1.0]], [[[1.0, 2.0, 3.0]]] * 2],
)
def test_a_wrong_number_or_shape_of_vectors_is_an_error(answer):
    counts = WordCounts()
    encoder = open_encoder(counts, {})
    assert encoder.dim == 3
    counts.embed_documents = lambda texts: answer
    with pytest.raises(ConfigurationError, match="WordCounts gave"):
        encoder.encode_documents(["a", "b"])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_vector_that_is_not_finite_is_an_error(bad):
    counts = WordCounts()
    counts.embed_query = lambda text: [bad, 1.0, 1.0]
    with pytest.raises(ConfigurationError, match="NaN or infinity"):
        open_encoder(counts, {}).encode_queries(["a"])


@pytest.mark.parametrize("fingerprint", [None, "", 3])
def test_an_object_without_a_fingerprint_is_refused(fingerprint):
    class Nameless:
        dim = 4

        def encode_documents(self, texts):
            raise AssertionError

        def encode_queries(self, texts):
            raise AssertionError

    encoder = Nameless()
    encoder.fingerprint = fingerprint
    with pytest.raises(ConfigurationError, match="fingerprint"):
        open_encoder(encoder, {})
    encoder.fingerprint = "mine"
    assert open_encoder(encoder, {}) is encoder
