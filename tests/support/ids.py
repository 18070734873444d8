"""Names of parametrized cases that are the same in every process."""

from __future__ import annotations

import re

__all__ = ["steady"]


def steady(value: object) -> str:
    """`value` as text, without addresses of objects: processes that share a run must agree."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
