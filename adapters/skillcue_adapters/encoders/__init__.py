"""Encoders: text to vectors, behind one protocol and one spec string.

==================  ==============================================================================
spec                encoder
==================  ==============================================================================
``minilm``          all-MiniLM-L6-v2 as int8 ONNX, in the wheel (`skillcue_adapters.encoders.minilm`)
``static``          a table of token vectors distilled from it, in the wheel (`.static`)
``onnx:/path``      any exported model folder or file (`.onnx_model`)
``st:model``        sentence-transformers, by path or by the id of a model on disk (`.st`)
an object           an `Encoder`, a LangChain ``Embeddings``, a LlamaIndex ``BaseEmbedding``
                    (`.objects`)
==================  ==============================================================================

No encoder downloads anything. All of them give float32 rows of length 1; a text without tokens
has the zero vector, which is similar to nothing. They can be shared between threads, used after
a fork and pickled as long as what they wrap can be.
"""

from __future__ import annotations

from skillcue_adapters.encoders.spec import open_encoder

__all__ = ["open_encoder"]
