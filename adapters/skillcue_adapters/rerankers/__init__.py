"""Pair scorers: how well a text answers a query, behind one protocol and one spec string.

==================  ==============================================================================
spec                pair scorer
==================  ==============================================================================
``onnx:/path``      an exported cross-encoder, folder or file (`.onnx_pairs`)
``st:model``        a sentence-transformers ``CrossEncoder``, by path or by the id of a model on
                    disk (`.st_pairs`)
``lm:model``        a language model that answers yes or no, as Qwen3-Reranker does, by path or by
                    the id of a model on disk (`.lm_pairs`)
an object           a `PairScorer`, a LangChain ``BaseDocumentCompressor``, a LlamaIndex
                    ``BaseNodePostprocessor`` (`.objects`)
==================  ==============================================================================

None comes with skillcue and none downloads anything. Scores are raw: no scorer squeezes them into
a range, and those of one scorer mean nothing beside those of another.

Besides what `PairScorer` asks for, a scorer may have:

``warm_up()``
    Makes it ready, so that the first query does not wait for a model. It may be called again and
    costs nothing then.
``logits``
    True where scores are logits, so that their sigmoid is a probability.
``all_at_once``
    True where scores can be compared only within one call, so that a list must not be split.
"""

from __future__ import annotations

from skillcue_adapters.rerankers.spec import open_pair_scorer

__all__ = ["open_pair_scorer"]
