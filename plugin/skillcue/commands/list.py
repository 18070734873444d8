"""``skillcue list``: the skills of the library."""

from __future__ import annotations

from argparse import Namespace

from skillcue.commands.library import open_library
from skillcue.commands.messages import print_note
from skillcue.commands.output import Screen, write_json
from skillcue.commands.records import skill_record, source_record
from skillcue.push.budget import shorten
from skillcue.untrusted import marked
from skillcue_hooks import Skill

__all__ = ["run"]

DESCRIPTION_CHARS = 100
"""Longest description in the table, characters; ``--json`` has all of it."""


def run(args: Namespace) -> int:
    """Print the skills; 1 when there are none."""
    with open_library(args) as library:
        every = library.cue.list()
        skills = [skill for skill in every if _wanted(skill, args.category, args.tag)]
        library.note_problems()
        sources = [source_record(source) for source in library.cue.sources]
    if args.json:
        records = [skill_record(skill) for skill in skills]
        write_json({"total": len(skills), "sources": sources, "skills": records})
    elif skills:
        _show(skills)
    elif every:
        print_note("No skill has that category and tag.", _choices(every))
    return 0 if skills else 1


def _wanted(skill: Skill, category: str | None, tag: str | None) -> bool:
    below = category is None or f"{skill.category}/".startswith(f"{category.rstrip('/')}/")
    return below and (tag is None or tag in skill.tags)


def _choices(skills: tuple[Skill, ...]) -> str:
    categories = sorted({skill.category for skill in skills if skill.category})
    return f"Categories: {', '.join(categories) or 'none'}."


def _show(skills: list[Skill]) -> None:
    screen = Screen()
    rows = [
        (
            skill.name,
            skill.category,
            ", ".join(skill.tags),
            shorten(marked(skill, " ".join(skill.description.split())), DESCRIPTION_CHARS),
        )
        for skill in skills
    ]
    screen.table(("skill", "category", "tags", "description"), rows)
    screen.show(f"\n{len(skills)} skill{'s' if len(skills) > 1 else ''}")
