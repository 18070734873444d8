"""Group log lines into signatures and print them in order of first occurrence.

Usage: python error_signatures.py FILE|- [--pattern REGEX] [--top N]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}|\d{2}:\d{2}:\d{2}")
STAMP_PREFIX = re.compile(
    r"^\[?(\d{4}-\d{2}-\d{2}[T ])?\d{2}:\d{2}:\d{2}([.,]\d+)?(Z|[+-]\d\d:?\d\d)?\]?"
)
PLACEHOLDERS = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"\"[^\"]*\"|'[^']*'"), "<text>"),
    (re.compile(r"\d+([.,]\d+)?"), "<n>"),
)


@dataclass
class Signature:
    """One kind of line: where and when it was seen first and last, and how often."""

    line: int
    first: str
    last: str
    example: str
    count: int = 0


def normalise(line: str) -> str:
    """The line without its timestamp, with changing parts replaced by placeholders."""
    text = STAMP_PREFIX.sub("", line).strip()
    for pattern, placeholder in PLACEHOLDERS:
        text = pattern.sub(placeholder, text)
    return text


def collect(lines: Iterable[str], pattern: re.Pattern[str]) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    stamp = "?"
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\n")
        match = TIMESTAMP.search(line)
        stamp = match.group() if match else stamp
        if not pattern.search(line):
            continue
        entry = found.setdefault(normalise(line), Signature(number, stamp, stamp, line))
        entry.count += 1
        entry.last = stamp
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Group log lines into signatures.")
    parser.add_argument("file", help="log file, or - for standard input")
    parser.add_argument(
        "--pattern", default=r"\b(ERROR|FATAL|CRITICAL|WARN(ING)?|\w*Exception|\w*Error)\b"
    )
    parser.add_argument("--top", type=int, default=20, help="number of signatures, most frequent")
    args = parser.parse_args()
    pattern = re.compile(args.pattern)
    if args.file == "-":
        found = collect(sys.stdin, pattern)
    else:
        with open(args.file, encoding="utf-8", errors="replace") as handle:
            found = collect(handle, pattern)
    kept = sorted(found.items(), key=lambda item: -item[1].count)[: args.top]
    print(f"{sum(s.count for s in found.values())} lines, {len(found)} signatures")
    for text, entry in sorted(kept, key=lambda item: item[1].line):
        print(f"\n{entry.count:>7} x  {entry.first} .. {entry.last}  first in line {entry.line}")
        print(f"           {text[:160]}")
        print(f"      e.g. {entry.example[:160]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
