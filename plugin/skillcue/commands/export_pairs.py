"""``skillcue export-pairs``: pseudo-queries and their skills as training data, lines of JSON."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from skillcue.commands.bar import Bar
from skillcue.commands.library import open_indexed
from skillcue.commands.messages import print_error
from skillcue.commands.output import Screen, write_json
from skillcue.facade import SkillCue
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Counts:
    """What was written.

    Attributes:
        skills: Skills with an example.
        pairs: Examples.
        without_negatives: Those for which no other skill was found.
    """

    skills: int
    pairs: int
    without_negatives: int


def run(args: Namespace) -> int:
    """Write the examples; 1 when there are none."""
    if args.negatives < 0:
        raise ConfigurationError(f"--negatives is {args.negatives}.", "Give 0 or more.")
    with open_indexed(args) as library:
        library.check_folders("Name the folders they come from.")
        library.note_problems()
        if library.is_empty:
            return 1
        out = Path(args.out).expanduser()
        try:
            counts = _write(library.cue, args, out)
        except OSError as error:
            raise ConfigurationError(
                f"{out} cannot be written: {error}.", "Name another file: --out FILE"
            ) from error
    if args.json:
        write_json(asdict(counts))
    else:
        text = f"{counts.pairs:,} examples of {counts.skills:,} skills in {out}"
        Screen().show(f"{text}; {counts.without_negatives:,} without a negative.")
    if not counts.pairs:
        print_error("No skill has a pseudo-query.", "See them: skillcue augment --cache FOLDER")
    return 0 if counts.pairs else 1


def _write(cue: SkillCue, args: Namespace, out: Path) -> _Counts:
    from skillcue_adapters.augment.augmentation import augment_by_rules, content_key
    from skillcue_adapters.augment.pairs import training_pairs
    from skillcue_adapters.augment.store import AugmentationStore

    store = AugmentationStore(Path(args.cache).expanduser()) if args.cache else None
    skills = cue.list()
    written = lonely = 0
    used: set[str] = set()

    def search(text: str, k: int) -> Sequence[Skill]:
        return [hit.skill for hit in cue.lookup(text, k).hits]

    if out.is_dir():  # said before anything is searched for
        raise IsADirectoryError(21, "it is a folder")
    partial = out.with_name(f"{out.name}.partial")
    with partial.open("w", encoding="utf-8", errors="replace") as file, Bar(args.progress) as bar:
        for number, skill in enumerate(skills):
            bar.update("exporting", number, len(skills))
            made = store and store.best(content_key(skill))
            for pair in training_pairs(
                skill, made or augment_by_rules(skill), search, args.negatives
            ):
                file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
                used.add(skill.id)
                written += 1
                lonely += not pair.negatives
    os.replace(partial, out)
    return _Counts(len(used), written, lonely)
