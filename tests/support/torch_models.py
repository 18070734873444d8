"""Tiny models of random weights, saved as published ones are."""

from __future__ import annotations

import logging
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from skillcue_adapters.encoders.minilm import FOLDER

__all__ = ["save_bi_encoder", "save_cross_encoder", "save_yes_no_model"]

logging.getLogger("transformers").setLevel(logging.ERROR)


def save_bi_encoder(folder: Path, seed: int = 0) -> Path:
    """A BERT of two layers with mean pooling, as sentence-transformers saves it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    torch.manual_seed(seed)
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    bare = folder / "bare"
    BertModel(config).save_pretrained(bare)
    tokenizer = BertTokenizerFast(
        tokenizer_file=str(FOLDER / "tokenizer.json"), model_max_length=64
    )
    tokenizer.save_pretrained(bare)
    SentenceTransformer(modules=[Transformer(str(bare)), Pooling(32, "mean")]).save(str(folder))
    return folder


def save_cross_encoder(folder: Path, labels: int = 1, seed: int = 0) -> Path:
    """A BERT of two layers with a classifier of `labels` numbers."""
    torch.manual_seed(seed)
    config = BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=labels,
        initializer_range=0.5,  # as far from each other as trained scores
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer = BertTokenizerFast(
        tokenizer_file=str(FOLDER / "tokenizer.json"), model_max_length=64
    )
    tokenizer.save_pretrained(folder)
    return folder


def save_yes_no_model(
    folder: Path, answers: tuple[str, ...] = ("yes", "no"), positions: int = 2048, seed: int = 0
) -> Path:
    """A Qwen3 of two layers, and a tokenizer in which `answers` are one token each."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        ["judge whether the document meets the query"], vocab_size=280, show_progress=False
    )
    trained.add_special_tokens(["<|im_start|>", "<|im_end|>", *answers])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=positions,
        initializer_range=0.3,
    )
    Qwen3ForCausalLM(config).eval().save_pretrained(folder)
    return folder
