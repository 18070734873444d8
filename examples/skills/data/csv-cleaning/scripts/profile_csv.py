"""Profile a delimited text file: structure first, then every column.

Usage: python profile_csv.py FILE [--delimiter ';']
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

SHAPES = (
    ("empty", re.compile(r"")),
    ("leading zero", re.compile(r"0\d+")),
    ("integer", re.compile(r"[+-]?\d+")),
    ("decimal point", re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)\.\d+")),
    ("decimal comma", re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")),
    ("exponent", re.compile(r"[+-]?\d+([.,]\d+)?[eE][+-]?\d+")),
    ("ISO date", re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")),
    ("dd.mm.yyyy", re.compile(r"\d{1,2}\.\d{1,2}\.\d{2,4}")),
    ("n/n/yyyy", re.compile(r"\d{1,2}/\d{1,2}/\d{2,4}")),
)
DELIMITERS = ",;\t|"


def decode(data: bytes) -> tuple[str, str]:
    """Text and the encoding that fits; cp1252 is the fallback that old exports need."""
    for encoding in ("utf-8-sig", "utf-8", "cp1252"):
        if encoding == "utf-8-sig" and not data.startswith(b"\xef\xbb\xbf"):
            continue
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "latin-1"


def guess_delimiter(text: str) -> str:
    """The delimiter that cuts the first 50 lines into the same, largest number of fields."""

    def steadiness(delimiter: str) -> tuple[int, int]:
        rows = islice(csv.reader(io.StringIO(text), delimiter=delimiter), 50)
        width, count = Counter(len(row) for row in rows if row).most_common(1)[0]
        return (count if width > 1 else 0, width)

    return max(DELIMITERS, key=steadiness)


def shape(value: str) -> str:
    """Name of the pattern a value has."""
    stripped = value.strip()
    return next((name for name, pattern in SHAPES if pattern.fullmatch(stripped)), "text")


def report_column(name: str, values: list[str]) -> str:
    shapes = Counter(shape(value) for value in values)
    padded = sum(value != value.strip() for value in values)
    parts = [f"{len(set(values))} distinct"]
    parts += [f"{count} {kind}" for kind, count in shapes.most_common()]
    if padded:
        parts.append(f"{padded} with blanks around")
    if len(shapes.keys() - {"empty"}) > 1:
        parts.append("MIXED")
    return f"  {name!r}: " + ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Profile a delimited text file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--delimiter")
    args = parser.parse_args()
    text, encoding = decode(args.file.read_bytes())
    if not text.strip():
        print("the file is empty")
        return 1
    delimiter = args.delimiter or guess_delimiter(text)
    header, *rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    odd = [n for n, row in enumerate(rows, start=2) if len(row) != len(header)]
    keys = Counter(map(tuple, rows))
    print(f"encoding {encoding}, delimiter {delimiter!r}, {len(header)} columns, {len(rows)} rows")
    print(f"rows with another number of fields: {len(odd)} {odd[:10] if odd else ''}".rstrip())
    print(f"exact duplicates: {sum(keys.values()) - len(keys)}")
    print("columns:")
    for index, name in enumerate(header):
        print(report_column(name, [row[index] for row in rows if index < len(row)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
