"""``skillcue doctor``: what is wrong with the files, what is alike, what the library costs."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from skillcue.commands.bar import Bar
from skillcue.commands.budget import LibraryCost, library_cost
from skillcue.commands.files_assessed import FilesAssessed, assess_files
from skillcue.commands.library import open_library
from skillcue.commands.output import Screen, cell, fields, write_json
from skillcue.commands.records import diagnostic_record, source_record
from skillcue.commands.similar import MAX_COMPARISONS, SIMILARITY, Alike, find_alike
from skillcue.facade import SkillCue
from skillcue.push.budget import shorten
from skillcue_hooks import Diagnostic

__all__ = ["run"]

PLACES_SHOWN = 20
"""Most places named for one kind of problem; ``--json`` has all of them."""
GROUPS_SHOWN = 10
"""Most groups of similar skills shown; ``--json`` has all of them."""
NAMES_SHOWN = 4
"""Most skills named of one such group."""
_SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class _Report:
    where: str
    skills: int
    searchable: int
    found: int
    sources: tuple[dict[str, Any], ...]
    diagnostics: tuple[Diagnostic, ...]
    alike: Alike
    cost: LibraryCost
    files: FilesAssessed | None

    def count(self, severity: str) -> int:
        return sum(item.severity == severity for item in self.diagnostics)


def run(args: Namespace) -> int:
    """Print the report; 1 for an empty library or errors, with ``--strict`` for warnings too."""
    with open_library(args) as library:
        snapshot = library.cue.snapshot()
        if args.files:
            library.check_folders("Leave out --files: they are assessed whenever they are loaded.")
        files = _files(library.cue, args.progress) if args.files else None
        found = (*snapshot.diagnostics, *(files.findings if files else ()))
        report = _Report(
            where=library.where,
            skills=len(snapshot.skills),
            searchable=len(snapshot.library.skills),
            found=snapshot.found,
            sources=tuple(source_record(source) for source in library.cue.sources),
            diagnostics=tuple(sorted(found, key=_order)),
            alike=find_alike(snapshot.library.skills),
            cost=library_cost(snapshot),
            files=files,
        )
        if library.is_empty:
            library.note_problems()
    if args.json:
        write_json(_document(report))
    else:
        _show(report)
    bad = report.count("error") + (report.count("warning") if args.strict else 0)
    return 1 if bad or not report.searchable else 0


def _files(cue: SkillCue, wanted: bool) -> FilesAssessed:
    with Bar(wanted) as bar:
        return assess_files(cue, bar.update)


def _order(item: Diagnostic) -> tuple[int, str, str, int]:
    return _SEVERITIES.index(item.severity), item.code, str(item.path), item.line or 0


def _show(report: _Report) -> None:
    screen = Screen()
    copies = report.found - report.skills
    hidden = report.skills - report.searchable
    screen.show(
        f"{report.where}: {report.skills} skills"
        + (f", {copies} copies of the same text left out" if copies else "")
        + (f", {hidden} that only load by name" if hidden else "")
    )
    for source in report.sources:
        if source["digest"]:
            screen.show(f"{source['place']}: {source['trust']}, {source['digest']}")
    if report.files:
        count = report.files.left_out
        left_out = f", {count} not (no text, too large or unreadable)" if count else ""
        screen.show(f"files beside SKILL.md: {report.files.assessed} assessed{left_out}")
    _show_diagnostics(screen, report)
    _show_alike(screen, report.alike)
    _show_cost(screen, report)


def _show_diagnostics(screen: Screen, report: _Report) -> None:
    counts = (f"{report.count(severity)} {severity}" for severity in _SEVERITIES)
    screen.heading(f"files: {', '.join(counts)}")
    for (_, code, remedy), group in groupby(
        report.diagnostics, key=lambda item: (item.severity, item.code, item.remedy)
    ):
        items = list(group)
        style = {"error": "bold red", "warning": "yellow"}.get(items[0].severity, "")
        screen.show(cell(f"{items[0].severity}: {code} ({len(items)})", style))
        rows = [("", f"{_place(item)}: {item.message}") for item in items[:PLACES_SHOWN]]
        if len(items) > PLACES_SHOWN:
            rows.append(("", f"and {len(items) - PLACES_SHOWN} more; --json lists them"))
        screen.show(fields([*rows, ("cure", remedy)]))


def _place(item: Diagnostic) -> str:
    return f"{item.path}:{item.line}" if item.line else str(item.path)


def _show_alike(screen: Screen, alike: Alike) -> None:
    screen.heading(f"similar descriptions (from {SIMILARITY:.0%}): {len(alike.groups)} groups")
    for group in alike.groups[:GROUPS_SHOWN]:
        names = [f"{skill.id} ({share:.0%})" for skill, share in group.others[:NAMES_SHOWN]]
        more = len(group.others) - NAMES_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        screen.show(f"- {group.first.id} is like {', '.join(names)}{rest}")
    if len(alike.groups) > GROUPS_SHOWN:
        screen.show(f"and {len(alike.groups) - GROUPS_SHOWN} groups more; --json lists them")
    if alike.groups:
        screen.show(
            "Say in each description when to use this one and not the other, or merge them."
        )
    if not alike.complete:
        screen.show(f"Not every pair was looked at: stopped after {MAX_COMPARISONS:,} comparisons.")


def _show_cost(screen: Screen, report: _Report) -> None:
    cost = report.cost
    screen.heading("size in tokens (estimated)")
    screen.show(
        fields(
            [
                ("all descriptions", f"{cost.descriptions:,}"),
                ("all bodies", f"{cost.bodies:,}"),
                ("load everything", f"{cost.everything:,} for each task"),
            ]
        )
    )
    rows = [(f"{tokens:,}", shorten(skill.id, 100)) for skill, tokens in cost.largest]
    if rows:
        screen.table(("tokens", "largest bodies"), rows, numeric="tokens")


def _document(report: _Report) -> dict[str, Any]:
    cost = report.cost
    return {
        "skills": report.skills,
        "searchable": report.searchable,
        "found": report.found,
        "sources": list(report.sources),
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "files": report.files
        and {"assessed": report.files.assessed, "left_out": report.files.left_out},
        "diagnostics": [diagnostic_record(item) for item in report.diagnostics],
        "similar": {
            "threshold": SIMILARITY,
            "complete": report.alike.complete,
            "groups": [
                {
                    "first": group.first.id,
                    "others": [
                        {"id": skill.id, "similarity": round(share, 4)}
                        for skill, share in group.others
                    ],
                }
                for group in report.alike.groups
            ],
        },
        "tokens": {
            "descriptions": cost.descriptions,
            "bodies": cost.bodies,
            "everything": cost.everything,
            "largest": [{"id": skill.id, "tokens": tokens} for skill, tokens in cost.largest],
        },
    }
