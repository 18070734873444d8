"""Text and JSON on stdout. What a skill file says is shown as it is, never as markup."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from skillcue.library.characters import clean

__all__ = ["Screen", "cell", "fields", "write_json"]

TABLE_COLUMNS = 60
"""Narrowest terminal on which rows are shown as a table, columns."""


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Leave the broken pipe to `skillcue.cli`, which knows the exit code."""
        raise  # noqa: PLE0704  # called by rich while it handles the BrokenPipeError


class Screen:
    """Stdout for people: colours and full width on a terminal only, honouring ``NO_COLOR``."""

    def __init__(self) -> None:
        self._console = _Console(
            file=sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=False
        )

    def show(self, *parts: RenderableType) -> None:
        """Print each part on lines of its own."""
        for part in parts:
            self._console.print(cell(part) if isinstance(part, str) else part)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: str = ""
    ) -> None:
        """Print a table that fits the width: cells are wrapped, and where columns would become
        slivers, each row is printed as lines of its own.

        Args:
            columns: Headings. The last column gives way first.
            rows: Cells, as many a row as there are columns.
            numeric: Headings, separated by blanks, of columns that are flushed right.
        """
        width = self._console.width
        if width < TABLE_COLUMNS:
            for row in rows:
                self.show(fields(list(zip(columns, row, strict=True))), "")
            return
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, column in enumerate(columns):
            widest = max((cell_len(row[number]) for row in rows), default=0)
            made.add_column(
                cell(column),
                justify="right" if column in numeric.split() else "left",
                overflow="fold",
                no_wrap=number == 0 and widest <= width // 3,  # names are to be copied
            )
        for row in rows:
            made.add_row(*map(cell, row))
        self.show(made)

    def heading(self, text: str) -> None:
        """A line that starts a section."""
        self._console.print()
        self._console.print(cell(text, "bold"))


def cell(text: str, style: str = "") -> Text:
    """`text` without control characters, wrapped rather than cut where it does not fit."""
    return Text(clean(text).text, style=style, overflow="fold")


def fields(rows: Sequence[tuple[str, str]]) -> Table:
    """Labels on the left, text on the right."""
    made = Table.grid(padding=(0, 2))
    made.add_column(overflow="fold")
    made.add_column(overflow="fold")
    for label, text in rows:
        made.add_row(cell(label, "dim"), cell(text))
    return made


def write_json(document: Any) -> None:
    """`document` as one JSON text in ASCII, so that any terminal and any reader takes it."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n")
