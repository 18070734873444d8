"""Makes the model files that are shipped in ``data/``; needs PyTorch, which using them does not.

Run by ``python -m skillcue_adapters.encoders.build_models``.
"""
