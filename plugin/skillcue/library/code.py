"""What a diagnostic code stands for."""

from __future__ import annotations

from dataclasses import dataclass

from skillcue_hooks.contracts import Severity

__all__ = ["Code"]


@dataclass(frozen=True, slots=True)
class Code:
    """What a diagnostic code stands for.

    Attributes:
        severity: ``error`` when something the author wrote is missing from the library,
            ``warning`` when it was mended or needs a look, ``info`` when it is by design.
        meaning: One sentence, true of every diagnostic with this code.
        remedy: What the author of the file or the owner of the library does about it.
    """

    severity: Severity
    meaning: str
    remedy: str
