"""Words that profiles and pseudo-queries are made of: formats of files, and what is done to them.

Only those that a skill file says itself are ever taken from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skillcue_adapters.analyzer import ANALYZER

__all__ = ["FORMATS", "is_operation", "library_names", "operation_of"]

FORMATS = {
    tag: frozenset(words.split())
    for tag, words in {
        "pdf": "pdf pdfs",
        "docx": "docx doc word",
        "xlsx": "xlsx xls xlsm excel spreadsheet spreadsheets",
        "pptx": "pptx ppt powerpoint slides",
        "csv": "csv tsv",
        "json": "json jsonl geojson ndjson",
        "yaml": "yaml yml",
        "xml": "xml",
        "html": "html htm",
        "markdown": "markdown md",
        "latex": "latex tex bibtex",
        "sql": "sql postgres postgresql mysql sqlite database",
        "parquet": "parquet",
        "image": "png jpg jpeg svg gif tiff webp image images",
        "audio": "mp3 wav flac audio podcast",
        "video": "mp4 mov mkv video videos",
        "subtitles": "srt vtt subtitle subtitles",
        "email": "eml email emails mail",
        "archive": "zip tar gz archive",
        "log": "log logs",
        "notebook": "ipynb notebook notebooks",
        "pcap": "pcap pcapng",
        "stl": "stl obj mesh",
        "dicom": "dicom",
        "python": "python py",
        "javascript": "javascript js",
        "typescript": "typescript ts tsx",
        "java": "java",
        "rust": "rust rs",
        "go": "golang",
        "shell": "bash sh shell",
        "dockerfile": "dockerfile docker",
        "git": "git",
        "text": "txt",
    }.items()
}
"""Tag to the words and extensions that stand for it; a tag is given as the word the file uses."""

_OPERATIONS = """
add adjust aggregate align analyse analyze annotate apply archive assess audit automate back bake
balance benchmark book build calculate calibrate capture categorize change check choose classify
clean collect combine compare compile compose compress compute configure control convert correct
count create crop cut debug decide decode decrypt define deploy describe design detect determine
diagnose diff discover download draft draw edit embed encode encrypt estimate evaluate
examine exclude execute explain export extract fill filter find fit fix flatten forecast format
generate group handle highlight identify implement import improve index infer inspect install
integrate interpret investigate join label list load locate manage map mask measure merge migrate
minimize monitor move normalize notify optimize order organize parse patch plan plot practice
predict prepare prevent process profile prune publish query read rebuild recognize recommend
reconcile recover redact reduce refactor remove rename render repair replace report reproduce
resize resolve respond restore retrieve review rewrite roll rotate route run sample scale scan
schedule score search secure segment select send shape sign simulate simplify solve sort split
stitch summarize synchronize tag teach test trace track train transcribe transform
translate triage trim tune update upgrade upload validate verify visualize watch write
"""
_STEMS = {next(iter(ANALYZER.counts(word)), word): word for word in _OPERATIONS.split()}
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)|require\([\"']([\w@/.-]{1,60})[\"']\)"
    r"|\bfrom[ \t]+[\"']([\w@/.-]{1,60})[\"']",
    re.MULTILINE,
)
_INSTALL = re.compile(
    r"\b(?:pip3?|uv|npm|yarn|pnpm|cargo|gem|conda|brew)[ \t]+(?:pip[ \t]+)?(?:install|add)[ \t]+([^\n`|&;]{1,200})"
)
_PACKAGE = re.compile(r"(?<![\w-])@?[A-Za-z][\w./-]*")


def operation_of(word: str) -> str | None:
    """The verb that `word` is a form of (``merging`` of ``merge``), where it is an operation."""
    return _STEMS.get(next(iter(ANALYZER.counts(word)), ""))


def is_operation(word: str) -> bool:
    """`word` is an operation in its base form."""
    return operation_of(word) == word.lower()


def library_names(codes: Iterable[str]) -> frozenset[str]:
    """Names of packages that code imports or commands install, lower case."""
    found: set[str] = set()
    for code in codes:
        for groups in _IMPORT.findall(code):
            found.add(next(filter(None, groups)).lower())
        for listed in _INSTALL.findall(code):
            found.update(name.lower() for name in _PACKAGE.findall(listed))
    return frozenset(found)
