"""``python -m skillcue``: the same as the ``skillcue`` command."""

from __future__ import annotations

import sys

from skillcue.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
