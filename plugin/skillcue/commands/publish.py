"""``skillcue publish``: skills into an index that many processes share."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from skillcue.commands.bar import Bar
from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.encoders import DEFAULT_ENCODER
from skillcue.indexed.connect import connect, one_tenant
from skillcue.indexed.publish import Published, PublishReport, publish_library

__all__ = ["run"]

IDS_SHOWN = 20
"""Most ids that are named of those that are new, changed or gone; ``--json`` has all of them."""


def run(args: Namespace) -> int:
    """Publish; 1 when something could not be read."""
    connected = connect(args.to, makes_tables=not args.dry_run)
    try:
        tenant = one_tenant(connected.indexed, args.tenant)
        with open_library(args) as library, Bar(args.progress) as bar:

            def show(published: Published) -> None:
                bar.update("publishing", published.done, published.total)

            report = publish_library(
                library.cue,
                connected.indexed.index,
                tenant=tenant,
                encoder=args.encoder or DEFAULT_ENCODER,
                keep=args.keep,
                dry_run=args.dry_run,
                progress=show,
            )
            errors = sum(item.severity == "error" for item in library.cue.diagnostics)
    finally:
        if connected.owned:
            connected.indexed.index.close()
    if args.json:
        write_json(asdict(report))
    else:
        _show(report, connected.indexed.label)
    if errors:
        print_note(f"{errors} problems in the folders: see `skillcue doctor`.")
    return 1 if report.skipped else 0


def _show(report: PublishReport, label: str) -> None:
    screen = Screen()
    for verb, ids in (("new", report.new), ("changed", report.changed), ("gone", report.deleted)):
        for skill_id in ids[:IDS_SHOWN]:
            screen.show(f"{verb}: {skill_id}")
        if len(ids) > IDS_SHOWN:
            screen.show(f"and {len(ids) - IDS_SHOWN:,} more that are {verb}; --json names them")
    for name, reason in report.skipped:
        screen.show(f"left out: {name}: {reason}")
    whose = f" of tenant {report.tenant}" if report.tenant else ""
    would = "would be " if report.dry_run else ""
    screen.show(
        f"{label}{whose}: {len(report.new):,} new, {len(report.changed):,} changed, "
        f"{len(report.deleted):,} {would}deleted, {report.unchanged:,} as they were, "
        f"{report.seconds:.1f} s."
    )
    if report.untrusted:
        screen.show(f"{report.untrusted:,} are untrusted: push never uses them.")
