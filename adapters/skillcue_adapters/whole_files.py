"""Small text files that are written whole or not at all, whoever else writes or reads them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write `text` as UTF-8, in place of what was there.

    Args:
        path: The file; its folder is made, for this user alone, where it does not exist.
        text: What it holds then.

    Raises:
        OSError: It cannot be written; what was there stays.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:  # an interrupt as well: nothing half-written is left behind
        with suppress(OSError):
            os.unlink(temporary)
        raise
