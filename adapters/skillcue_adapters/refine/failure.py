"""Why a refinement came to nothing."""

from __future__ import annotations

__all__ = ["RefineError"]


class RefineError(Exception):
    """A refinement failed; the message completes "not refined: ..." and is fit to be recorded."""
