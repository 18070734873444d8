"""``onnx:/path``: layouts, pooling, prompts, limits, and what the fingerprint covers."""

from __future__ import annotations

import logging
import shutil

import numpy as np
import pytest
from support.encoder_models import WORDS, write_json

from skillcue_adapters.encoders import open_encoder
from skillcue_adapters.encoders.minilm import FOLDER
from skillcue_adapters.encoders.onnx_model import build
from skillcue_hooks.errors import ConfigurationError

TABLE = np.random.default_rng(5).normal(size=(12, 4)).astype(np.float32)
MEAN = {"pooling_mode": "mean"}


def expected(text, pool=lambda rows: rows.mean(axis=0)):
    """The vector of a text in words of `WORDS`, by hand."""
    row = pool(TABLE[[WORDS.index(word) for word in f"[CLS] {text} [SEP]".split()]])
    return row / np.linalg.norm(row)


@pytest.mark.parametrize(
    ("config", "pool"),
    [
        (None, lambda rows: rows.mean(axis=0)),
        (MEAN, lambda rows: rows.mean(axis=0)),
        ({"pooling_mode": "cls"}, lambda rows: rows[0]),
        ({"pooling_mode": "lasttoken"}, lambda rows: rows[-1]),
        (
            {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
            lambda rows: rows[0],
        ),
        (
            {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True},
            lambda rows: rows.mean(axis=0),
        ),
        ({"pooling_mode_lasttoken": True}, lambda rows: rows[-1]),
    ],
)
def test_pooling_is_what_the_folder_says(config, pool, small_model):
    folder = small_model(**({"pooling": config} if config else {}))
    encoder = build(str(folder))
    assert encoder.dim == 4
    for text in ("a", "a b c", "d"):
        assert np.allclose(encoder.encode_documents([text])[0], expected(text, pool), atol=1e-6)


def test_a_graph_that_pools_itself_is_believed(small_model):
    encoder = build(str(small_model("pooled", pooling={"pooling_mode": "cls"})))
    rows = TABLE[[1, 4, 5, 2]].mean(axis=0) + np.arange(4).mean()
    assert np.allclose(encoder.encode_queries(["a b"])[0], rows / np.linalg.norm(rows), atol=1e-6)


def test_the_vectors_of_the_tokens_are_found_among_several_outputs(small_model):
    row = build(str(small_model("several"))).encode_queries(["a b"])[0]
    assert np.allclose(row, expected("a b"), atol=1e-6)


def test_padding_of_the_tokenizer_is_undone(small_model):
    assert np.allclose(build(str(small_model())).encode_queries(["a"])[0], expected("a"), atol=1e-6)


@pytest.mark.parametrize("layout", ["folder", "onnx", "file", "file-in-onnx", "home"])
def test_where_the_model_may_lie(layout, small_model, monkeypatch):
    folder = small_model(pooling={"pooling_mode": "cls"})
    spec = folder
    if "onnx" in layout:
        (folder / "onnx").mkdir()
        (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    if layout == "file":
        spec = (folder / "model.onnx").rename(folder / "model_int8.onnx")
    elif layout == "file-in-onnx":
        spec = folder / "onnx" / "model.onnx"
    elif layout == "home":
        monkeypatch.setenv("HOME", str(folder.parent))
        monkeypatch.setenv("USERPROFILE", str(folder.parent))
        spec = f"~/{folder.name}"
    row = build(str(spec)).encode_queries(["b"])[0]
    assert np.allclose(row, expected("b", lambda rows: rows[0]), atol=1e-6)


@pytest.mark.parametrize(
    ("files", "query", "document"),
    [
        ({}, "a", "a"),
        ({"config_sentence_transformers": {"prompts": {"query": "query: "}}}, "query : a", "a"),
        (
            {"config_sentence_transformers": {"prompts": {"query": "", "passage": "document: "}}},
            "a",
            "document : a",
        ),
        (
            {"config_sentence_transformers": {"prompts": {"document": None, "query": None}}},
            "a",
            "a",
        ),
    ],
)
def test_prompts_are_put_in_front(files, query, document, small_model):
    encoder = build(str(small_model(**files)))
    assert np.allclose(encoder.encode_queries(["a"])[0], expected(query), atol=1e-6)
    assert np.allclose(encoder.encode_documents(["a"])[0], expected(document), atol=1e-6)


def test_a_prompt_alone_is_no_text(small_model):
    prompts = {"prompts": {"query": "query: "}}
    encoder = build(str(small_model(config_sentence_transformers=prompts)))
    assert not encoder.encode_queries(["", " "]).any()


@pytest.mark.parametrize(
    ("name", "prompted"),
    [
        ("bge-small-en-v1.5", True),
        ("bge-base-en", True),
        ("multilingual-e5-small", True),
        ("e5-large-v2", True),
        ("bge-m3", False),
        ("mine", False),
    ],
)
def test_families_without_prompts_in_their_files_get_those_of_their_model_card(
    name, prompted, small_model
):
    encoder = build(str(small_model(name=name)))
    same = np.array_equal(encoder.encode_queries(["a"]), encoder.encode_documents(["a"]))
    assert same is not prompted


def test_written_prompts_beat_those_of_the_family(small_model):
    prompts = {"prompts": {"query": "query: "}}
    folder = small_model(name="bge-small-en", config_sentence_transformers=prompts)
    assert np.allclose(build(str(folder)).encode_queries(["a"])[0], expected("query : a"))


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        ({"sentence_bert_config": {"max_seq_length": 4}}, 4),
        ({"tokenizer_config": {"model_max_length": 5}}, 5),
        ({"config": {"max_position_embeddings": 6}}, 6),
        (
            {
                "sentence_bert_config": {"max_seq_length": None},
                "tokenizer_config": {"model_max_length": 10**30},
                "config": {"max_position_embeddings": 7},
            },
            7,
        ),
        (
            {
                "sentence_bert_config": {"max_seq_length": 6},
                "config": {"max_position_embeddings": 5},
            },
            5,
        ),
    ],
)
def test_the_length_limit_is_the_smallest_that_is_written(files, tokens, small_model, caplog):
    encoder = build(str(small_model(**files)))
    with caplog.at_level(logging.INFO, "skillcue.encoders"):
        row = encoder.encode_documents(["a b c d a b c d"])[0]
    words = ["a", "b", "c", "d", "a", "b", "c", "d"][: tokens - 2]
    assert np.allclose(row, expected(" ".join(words)), atol=1e-6)
    assert f"onnx:small read the first {tokens} tokens of 1 of 1 texts" in caplog.text


def test_the_shipped_folder_works_by_path_too(minilm, texts, registry):
    by_path = open_encoder(f"onnx:{FOLDER}", registry)
    # Without the limit that the manifest carries, so only for texts below it.
    short = [text for text in texts if len(text) < 500]
    assert np.array_equal(by_path.encode_documents(short), minilm.encode_documents(short))


def fingerprint_of(folder):
    return build(str(folder)).fingerprint


def change_tokenizer(folder):
    path = folder / "tokenizer.json"
    path.write_text(path.read_text("utf-8").replace('"e": 11', '"f": 11'), "utf-8")


def change_model(folder):
    shutil.copyfile(FOLDER.parent.parent / "spec.py", folder / "model.onnx")


CHANGES = {
    "model": change_model,
    "tokenizer": change_tokenizer,
    "pooling": lambda folder: write_json(folder, "pooling", {"pooling_mode": "cls"}),
    "length": lambda folder: write_json(folder, "sentence_bert_config", {"max_seq_length": 9}),
    "query prompt": lambda folder: write_json(
        folder, "config_sentence_transformers", {"prompts": {"query": "query: "}}
    ),
    "document prompt": lambda folder: write_json(
        folder, "config_sentence_transformers", {"prompts": {"document": "query: "}}
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_covers(change, small_model):
    folder = small_model(name="one")
    before = fingerprint_of(folder)
    CHANGES[change](folder)
    assert fingerprint_of(folder) != before


def test_every_change_has_its_own_fingerprint(small_model):
    found = set()
    for change, apply in CHANGES.items():
        folder = small_model(name=change)
        apply(folder)
        found.add(fingerprint_of(folder))
    assert len(found) == len(CHANGES)


def test_the_fingerprint_does_not_cover_the_place(small_model, tmp_path):
    folder = small_model()
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    assert fingerprint_of(elsewhere) == fingerprint_of(folder)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "numpy"])
def test_the_fingerprint_covers_the_versions_of_libraries(package, small_model, monkeypatch):
    from skillcue_adapters.encoders import rows

    folder = small_model()
    before = fingerprint_of(folder)
    real = rows.version
    monkeypatch.setattr(rows, "version", lambda name: "0" if name == package else real(name))
    assert fingerprint_of(folder) != before


def test_weights_beside_the_model_are_used_and_covered(small_model):
    folder = small_model("external")
    path = folder / "external.onnx"
    before = fingerprint_of(path)
    row = build(str(path)).encode_queries(["c"])[0]
    assert np.allclose(row, expected("c"), atol=1e-6)
    weights = folder / "external.onnx_data"
    weights.write_bytes(weights.read_bytes()[::-1])
    assert fingerprint_of(path) != before


def test_files_that_change_after_they_were_named_are_noticed(small_model):
    folder = small_model()
    encoder = build(str(folder))
    assert encoder.fingerprint
    change_tokenizer(folder)
    with pytest.raises(ConfigurationError, match="have changed"):
        encoder.encode_queries(["a"])


@pytest.mark.parametrize(
    ("model", "files", "says"),
    [
        ("tokens", {"modules": [{"type": "sentence_transformers.models.Dense"}]}, "Dense"),
        ("tokens", {"sentence_bert_config": {"do_lower_case": True}}, "lower case"),
        ("tokens", {"pooling": {"pooling_mode": "max"}}, "'max'"),
        ("tokens", {"pooling": {"pooling_mode": ["cls", "mean"]}}, "cls"),
        (
            "tokens",
            {"pooling": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}},
            "max",
        ),
        ("tokens", {"pooling": {**MEAN, "include_prompt": False}}, "leaves out the prompt"),
    ],
)
def test_what_only_sentence_transformers_computes_is_refused(model, files, says, small_model):
    with pytest.raises(ConfigurationError, match=rf"{says}.*st:"):
        build(str(small_model(model, **files)))


def test_the_modules_of_an_ordinary_model_are_accepted(small_model):
    modules = [
        {"type": f"sentence_transformers.models.{name}"}
        for name in ("Transformer", "Pooling", "Normalize")
    ]
    assert build(str(small_model(modules=modules))).dim == 4


def test_a_folder_without_a_model_says_so(tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds no model\.onnx"):
        build(str(tmp_path))


def test_a_model_without_a_tokenizer_says_so(small_model):
    folder = small_model()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigurationError, match=r"no tokenizer\.json"):
        build(str(folder))


def test_a_json_file_that_cannot_be_read_says_so(small_model):
    folder = small_model()
    (folder / "config.json").write_text("{", "utf-8")
    with pytest.raises(ConfigurationError, match=r"config\.json cannot be read"):
        build(str(folder))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_none_of_its_kind_says_so(name, small_model):
    folder = small_model()
    (folder / name).write_bytes(b"not this")
    with pytest.raises(ConfigurationError, match=name):
        build(str(folder)).encode_queries(["a"])


def test_an_input_that_no_text_has_is_refused(small_model):
    with pytest.raises(ConfigurationError, match="'pixel_values'"):
        build(str(small_model("image"))).encode_queries(["a"])


def test_a_model_that_goes_away_says_so(small_model):
    folder = small_model()
    encoder = build(str(folder))
    shutil.rmtree(folder)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        encoder.encode_queries(["a"])
