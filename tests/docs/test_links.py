"""Every link of the documentation leads somewhere, and the index lists every page."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]

LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}[ ]+(.+?)[ ]*#*$", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.~/])/(?:home|Users|root|work|tmp|mnt|private|var)/\w")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Text without code blocks, in which links and headings are something else."""
    return FENCED.sub("", page.read_text("utf-8"))


def slug(heading: str) -> str:
    """Anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    found: dict[str, int] = {}
    result = set()
    for heading in HEADING.findall(prose(page)):
        base = slug(heading)
        count = found.get(base, 0)
        found[base] = count + 1
        result.add(f"{base}-{count}" if count else base)
    return result


def links(page: Path) -> list[str]:
    return LINK.findall(re.sub(r"`[^`\n]*`", "", re.sub(r"\[`([^`]*)`\]", r"[\1]", prose(page))))


def problem(page: Path, link: str) -> str | None:
    """What is wrong with a link, None when nothing is."""
    if link.startswith("https://"):
        return None
    if re.match(r"[a-z]+:", link):
        return "an address that is not https"
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return "no such file"
    if not target.is_relative_to(ROOT):
        return "outside of the project"
    if anchor and anchor not in anchors(target):
        return f"no heading for it; there are {sorted(anchors(target))}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_anchors_resolve(page):
    wrong = {link: found for link in links(page) if (found := problem(page, link))}
    assert not wrong


def test_the_index_lists_every_page():
    index = DOCS / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    assert set(DOCS.rglob("*.md")) - {index} <= listed


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_speaks_of_one_machine(page):
    assert MACHINE_PATH.findall(page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "link",
    ["missing.md", "#missing", "README.md#missing", "../..", "http://example.org", "file:///etc"],
)
def test_a_wrong_link_is_found(link):
    assert problem(ROOT / "CONTRIBUTING.md", link)


def test_links_are_seen_in_all_their_forms(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[a](b.md) [`code`](c.md#d) [two\nlines](e.md) `[no](f.md)` ![image](g.png)\n"
        "```text\n[no](h.md)\n```\n",
        "utf-8",
    )
    assert links(page) == ["b.md", "c.md#d", "e.md"]
    page.write_text("# A `b`: c_d/e\n\n## Same\n\n## Same\n", "utf-8")
    assert anchors(page) == {"a-b-c_de", "same", "same-1"}
