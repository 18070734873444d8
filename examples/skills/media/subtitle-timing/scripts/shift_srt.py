"""Shift, stretch and check SRT subtitles.

Usage:
    python shift_srt.py IN OUT --shift SECONDS [--from HH:MM:SS[,mmm]]
    python shift_srt.py IN OUT --points FILE=VIDEO FILE=VIDEO
    python shift_srt.py IN OUT --check
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

TIMING = re.compile(r"(\d+:\d\d:\d\d[,.]\d{1,3})\s*-->\s*(\d+:\d\d:\d\d[,.]\d{1,3})")
MIN_MS, MAX_MS = 1000, 7000
MAX_CHARACTERS_PER_SECOND = 20


@dataclass(frozen=True)
class Cue:
    start: int
    end: int
    text: str


def parse_time(text: str) -> int:
    """Milliseconds of ``HH:MM:SS,mmm``; the fraction may be missing."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d)(?:[,.](\d{1,3}))?", text.strip())
    if match is None:
        raise SystemExit(f"not a time: {text!r} (expected HH:MM:SS,mmm)")
    hours, minutes, seconds = (int(part) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int((match[4] or "0").ljust(3, "0"))


def format_time(ms: int) -> str:
    seconds, ms = divmod(max(ms, 0), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{ms:03}"


def parse(text: str) -> list[Cue]:
    cues = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()):
        match = TIMING.search(block)
        if match:
            words = block[match.end() :].partition("\n")[2].strip()
            cues.append(Cue(parse_time(match[1]), parse_time(match[2]), words))
    return cues


def read_text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def stretch(points: list[str]) -> Callable[[int], int]:
    """Straight line through two pairs ``time in the file=time in the video``."""
    pairs = [[parse_time(part) for part in point.split("=")] for point in points]
    if any(len(pair) != 2 for pair in pairs) or pairs[0][0] == pairs[1][0]:
        raise SystemExit("--points needs two different pairs FILE=VIDEO")
    (file_a, video_a), (file_b, video_b) = pairs
    factor = (video_b - video_a) / (file_b - file_a)
    return lambda ms: round(video_a + (ms - file_a) * factor)


def findings(cues: list[Cue]) -> list[str]:
    found = []
    for number, cue in enumerate(cues, start=1):
        length = cue.end - cue.start
        letters = len(re.sub(r"<[^>]+>|\s+", "", cue.text)) + cue.text.count(" ")
        if cue.start < 0:
            found.append(f"{number}: starts {-cue.start} ms before the beginning")
        if length < MIN_MS:
            found.append(f"{number}: only {length} ms")
        elif letters * 1000 / length > MAX_CHARACTERS_PER_SECOND:
            found.append(f"{number}: {letters * 1000 / length:.0f} characters per second")
        if length > MAX_MS:
            found.append(f"{number}: {length / 1000:.1f} s long")
        if number < len(cues) and cue.end > cues[number].start:
            found.append(f"{number}: overlaps the next by {cue.end - cues[number].start} ms")
    return found


def mapping(args: argparse.Namespace) -> Callable[[int], int]:
    if args.points:
        return stretch(args.points)
    begin, shift = parse_time(args.begin), round((args.shift or 0) * 1000)
    return lambda ms: ms + shift if ms >= begin else ms


def main() -> int:
    parser = argparse.ArgumentParser(description="Shift, stretch and check SRT subtitles.")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--shift", type=float, help="seconds, may be negative")
    parser.add_argument("--from", dest="begin", default="00:00:00", help="shift from here on")
    parser.add_argument("--points", nargs=2, metavar="FILE=VIDEO")
    parser.add_argument("--check", action="store_true", help="report only, write nothing")
    args = parser.parse_args()
    cues = parse(read_text(args.source))
    if not args.check:
        move = mapping(args)
        cues = [replace(cue, start=move(cue.start), end=move(cue.end)) for cue in cues]
        blocks = [
            f"{number}\n{format_time(cue.start)} --> {format_time(cue.end)}\n{cue.text}\n"
            for number, cue in enumerate(cues, start=1)
        ]
        args.target.write_text("\n".join(blocks), encoding="utf-8")
    report = findings(cues)
    print(f"{len(cues)} cues, {len(report)} findings")
    print("\n".join(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
