"""``lm:model``: a causal language model that is asked whether a text fits, as Qwen3-Reranker is.

The prompt is that of the Qwen3-Reranker model card (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B);
the score is ``log p("yes") - log p("no")`` where these are the only answers, the difference of the
two logits behind the last token. Its sigmoid is ``p("yes")``, which the model card takes.

Nothing is ever downloaded. The code is tested with small models of random weights, whose scores
mean nothing: it computes what the model card computes, and how good a model is you have to measure
(``skillcue eval``). Half a billion parameters take about half a second a pair on two processors,
so raise the time budget.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillcue_adapters.encoders.model_folder import read_json
from skillcue_adapters.encoders.torch_models import folder_on_disk
from skillcue_adapters.rerankers.torch_pairs import Predict, TorchPairScorer, require
from skillcue_hooks.errors import ConfigurationError

__all__ = ["INSTRUCTION", "LanguageModelPairScorer", "build"]

_VERSION = 1
"""Raised whenever the code here changes a score."""

INSTRUCTION = "Given a task, find the agent skill that helps to do it"
"""What the model is told to judge."""

MAX_TOKENS = 8192
"""Tokens of a prompt, as on the model card; a longer pair loses the end of its text."""

_PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    'the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n"
)
_SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class LanguageModelPairScorer(TorchPairScorer):
    """A `PairScorer` over a causal language model; scores are the logits of "yes".

    Pairs are read one at a time, without padding.

    Args:
        model: A folder, or the id of a model in the Hugging Face cache (``org/name``).
        device: Where PyTorch computes; on ``cpu`` with 32-bit numbers, whatever the files hold.
        instruction: What the model is told to judge.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: transformers is not installed.
    """

    def __init__(self, model: str, device: str = "cpu", instruction: str = INSTRUCTION) -> None:
        require("transformers", "transformers")
        require("torch", "torch")
        self._args = (model, device, instruction)
        folder = folder_on_disk(model)
        template = [_PREFIX, _SUFFIX, instruction, MAX_TOKENS]
        super().__init__(folder, "lm pairs", _VERSION, device, template)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._args

    def _open(self) -> Predict:
        _, device, instruction = self._args
        model = _YesNo(self.folder, device)
        return lambda query, texts: [
            model.logit(f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}")
            for text in texts
        ]


def build(argument: str) -> LanguageModelPairScorer:
    """Factory of ``lm:model``; a path may begin with ``~``.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: transformers is not installed.
    """
    return LanguageModelPairScorer(argument)


class _YesNo:
    """A loaded model: what exists once in a process."""

    def __init__(self, folder: Path, device: str) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        kinds = read_json(folder / "config.json", {}).get("architectures") or ["unknown"]
        if not kinds[0].endswith("ForCausalLM"):  # it would be loaded with a head of random weights
            raise ConfigurationError(
                f"{folder} holds a {kinds[0]}, not a causal language model.",
                f"Is it a cross-encoder? Then it is st:{folder}.",
            )
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
        model = model.to(device).eval()
        self._model = model.float() if device == "cpu" else model
        self._prefix, self._suffix = self._ids(_PREFIX), self._ids(_SUFFIX)
        self._answers = [self._answer(folder, word) for word in ("no", "yes")]
        longest = min(MAX_TOKENS, getattr(model.config, "max_position_embeddings", MAX_TOKENS))
        self._room = longest - len(self._prefix) - len(self._suffix)
        if self._room < 1:
            raise ConfigurationError(
                f"{folder} reads {longest} tokens, less than the prompt has.",
                "Use a model with a longer context.",
            )

    def logit(self, pair: str) -> float:
        """Logit of "yes" against "no" for one pair."""
        import torch

        ids = [*self._prefix, *self._ids(pair)[: self._room], *self._suffix]
        given = torch.tensor([ids], device=self._model.device)
        with torch.inference_mode():
            no, yes = self._model(input_ids=given, logits_to_keep=1).logits[0, -1, self._answers]
        return float(yes) - float(no)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _answer(self, folder: Path, word: str) -> int:
        ids = self._ids(word)
        if len(ids) != 1 or ids[0] == self._tokenizer.unk_token_id:
            raise ConfigurationError(
                f"{folder} has no token {word!r}.", "A reranker of this kind answers yes or no."
            )
        return ids[0]
