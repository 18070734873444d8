"""``st:model``: any sentence-transformers ``CrossEncoder`` that is on disk, through PyTorch.

Nothing is ever downloaded: an id is looked up in the Hugging Face cache of this machine.
"""

from __future__ import annotations

from typing import Any

from skillcue_adapters.encoders.rows import runtime
from skillcue_adapters.encoders.torch_models import folder_on_disk
from skillcue_adapters.rerankers.torch_pairs import Predict, TorchPairScorer, require
from skillcue_hooks.errors import ConfigurationError

__all__ = ["CrossEncoderPairScorer", "build"]

_VERSION = 1
"""Raised whenever the code here changes a score."""


class CrossEncoderPairScorer(TorchPairScorer):
    """A `PairScorer` over a sentence-transformers ``CrossEncoder``; scores are its raw logits.

    The activation is set here: what the library applies by default has changed between versions.

    Args:
        model: A folder, or the id of a model in the Hugging Face cache (``org/name``; without
            ``org`` it is cross-encoder).
        device: Where PyTorch computes; ``cpu`` by default, so that scores do not depend on what
            the machine has.
        batch_size: Pairs in one forward pass. With 1, a score is equal to the last bit alone and
            among others; more is faster on a GPU and differs in the last digits.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: sentence-transformers is not installed.
    """

    def __init__(self, model: str, device: str = "cpu", batch_size: int = 1) -> None:
        require("sentence_transformers", "sentence-transformers")
        self._args = (model, device, batch_size)
        folder = folder_on_disk(model, "cross-encoder")
        library = runtime("sentence-transformers")
        super().__init__(folder, "st pairs", _VERSION, device, batch_size, library)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._args

    def _open(self) -> Predict:
        from sentence_transformers import CrossEncoder
        from torch import nn

        _, device, batch_size = self._args
        model = CrossEncoder(
            str(self.folder), device=device, activation_fn=nn.Identity(), local_files_only=True
        )

        def predict(query: str, texts: list[str]) -> Any:
            found = model.predict(
                [(query, text) for text in texts],
                batch_size=batch_size,
                show_progress_bar=False,
                activation_fn=nn.Identity(),
            )
            if found.ndim != 1:
                raise ConfigurationError(
                    f"{self.folder} gives {found.shape[-1]} numbers for one pair.",
                    "A cross-encoder that ranks gives one.",
                )
            return found

        return predict


def build(argument: str) -> CrossEncoderPairScorer:
    """Factory of ``st:model``; a path may begin with ``~``.

    Raises:
        ConfigurationError: The model is not on disk.
        MissingExtraError: sentence-transformers is not installed.
    """
    return CrossEncoderPairScorer(argument)
