"""Files beside the small ONNX models of tests/encoders/models."""

from __future__ import annotations

import json

from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "c", "d", "query", "document", ":", "e"]
"""Their vocabulary: the token's id is its row of the table."""


def write_json(folder, key, record):
    """`key` is the file's name without its ending, ``1_Pooling`` for the one in that folder."""
    path = folder / ("1_Pooling/config.json" if key == "pooling" else f"{key}.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record), "utf-8")


def write_tokenizer(path):
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_padding(length=9)  # as many published ones have it; must be undone
    tokenizer.save(str(path))
