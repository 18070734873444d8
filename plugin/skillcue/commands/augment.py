"""``skillcue augment``: tags and pseudo-queries of a library, made once and kept beside its index."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillcue.commands.bar import Bar
from skillcue.commands.cures import typed_cure
from skillcue.commands.language_model import open_model, price_pair
from skillcue.commands.library import open_library
from skillcue.commands.messages import print_error, print_note
from skillcue.commands.output import Screen, fields, write_json
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.language import Usage

if TYPE_CHECKING:
    from skillcue_adapters.augment.augmentation import Quality
    from skillcue_adapters.augment.run import Outcome, Todo
    from skillcue_adapters.augment.store import AugmentationStore
    from skillcue_adapters.language_models import MeteredLanguageModel

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Report:
    """What there is now.

    Attributes:
        quality: Of the pseudo-queries of the library.
        tagged: Skills with a profile.
        echo_rate: Share of a pseudo-query's content stems that its skill says as well, mean; None
            without pseudo-queries.
    """

    quality: Quality
    tagged: int
    echo_rate: float | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """Who augments, and for what price for a million tokens in and out."""

    model: MeteredLanguageModel | None
    price: tuple[float, float] | None

    def usage(self, todo: Todo) -> Usage:
        """What it takes at most, repairs apart."""
        from skillcue_adapters.augment.run import estimated_usage
        from skillcue_adapters.language_models.prices import money

        if self.model is None:
            return Usage()
        usage = estimated_usage(todo)
        if self.price is None:
            return usage
        cost = money(self.price, usage.input_tokens, usage.output_tokens)
        return replace(usage, money=cost)

    def text(self, todo: Todo) -> str:
        """The same in one sentence."""
        if self.model is None:
            return "By rules, without a model: it costs nothing."
        usage = self.usage(todo)
        money = "unknown money (--price)" if usage.money is None else f"{usage.money:.4f} money"
        return (
            f"{len(todo.skills):,} skills for {self.model.name}: about {usage.input_tokens:,} "
            f"tokens in, up to {usage.output_tokens:,} out, {money}; up to three times that where "
            "answers need repair."
        )


def run(args: Namespace) -> int:
    """Augment the library; 1 when it is empty, or the rules stood in for the model."""
    model = open_model(args.llm, args.price, args.llm_timeout)
    price = price_pair(args.price) if args.price else None
    folder = Path(args.folder).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"The cache {folder} is a file.", "Name a folder.")
    with open_library(args) as library:
        library.check_folders("Augment the folders they come from, and publish with --augment.")
        library.note_problems()
        if library.is_empty:
            return 1
        skills = library.cue.snapshot().library.skills
    return _run(args, skills, folder, _Plan(model, price))


def _run(args: Namespace, skills: Sequence[Skill], folder: Path, plan: _Plan) -> int:
    from skillcue_adapters.augment.run import augment_missing, missing
    from skillcue_adapters.augment.store import AugmentationStore

    store = AugmentationStore(folder)
    todo = missing(skills, store, plan.model)
    if args.dry_run:
        _show_plan(args, todo, plan)
        return 0
    if plan.model is not None and todo.skills:
        print_note(plan.text(todo))
    with Bar(args.progress) as bar:
        outcome = augment_missing(
            todo, store, plan.model, lambda done, total: bar.update("augmenting", done, total)
        )
        report = _report(skills, store, bar)
    if args.json:
        write_json(_document(todo, outcome, report))
    else:
        _show(skills, todo, outcome, report)
    return _note_fallbacks(outcome)


def _show_plan(args: Namespace, todo: Todo, plan: _Plan) -> None:
    if args.json:
        document = {"dry_run": True, "skills": len(todo.skills), "known": todo.known}
        write_json({**document, "estimate": asdict(plan.usage(todo))})
        return
    counts = f"{len(todo.skills):,} skills to augment, {todo.known:,} were augmented already."
    Screen().show(counts, plan.text(todo))


def _report(skills: Sequence[Skill], store: AugmentationStore, bar: Bar) -> _Report:
    from skillcue.evaluation.echo import echo_of, indexed_stems
    from skillcue_adapters.augment.augmentation import content_key, quality

    found, echoes = [], []
    for number, skill in enumerate(skills):
        bar.update("measuring", number, len(skills))
        made = store.best(content_key(skill))
        if made is None:
            continue
        found.append(made)
        known = indexed_stems([skill])
        echoes += [echo_of(query.text, known) for query in made.queries]
    rates = [rate for rate in echoes if rate is not None]
    return _Report(
        quality(found),
        sum(bool(made.tags) for made in found),
        math.fsum(rates) / len(rates) if rates else None,
    )


def _document(todo: Todo, outcome: Outcome, report: _Report) -> dict[str, Any]:
    return {
        "dry_run": False,
        "made": outcome.made,
        "known": todo.known,
        "tagged": report.tagged,
        **asdict(report.quality),
        "echo_rate": report.echo_rate,
        "fallbacks": [{"id": name, "reason": reason} for name, reason in outcome.fallbacks],
        "usage": asdict(outcome.usage),
    }


def _show(skills: Sequence[Skill], todo: Todo, outcome: Outcome, report: _Report) -> None:
    quality = report.quality
    rows = [
        ("skills", f"{len(skills):,}: {outcome.made:,} augmented, {todo.known:,} were already"),
        ("with four tags", f"{report.tagged:,}"),
        ("pseudo-queries", f"{quality.queries:,} of {quality.tried:,} made"),
        ("Exec-Pass", _share(quality.exec_pass)),
        ("Func-Coverage", _share(quality.func_coverage)),
        ("Distinct-3", _share(quality.distinct_3)),
        ("echo rate", _share(report.echo_rate)),
    ]
    if outcome.usage.calls:
        usage = outcome.usage
        money = "" if usage.money is None else f", {usage.money:.4f} money"
        tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{money}"
        rows.append(("model", f"{usage.calls:,} calls, {tokens}"))
    Screen().show(fields(rows))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _note_fallbacks(outcome: Outcome) -> int:
    if not outcome.fallbacks:
        return 0
    name, reason = outcome.fallbacks[0]
    print_error(
        f"The rules stood in for the model on {len(outcome.fallbacks):,} skills, first {name}: "
        f"{typed_cure(reason)}",
        "Run it again: only those are asked again.",
    )
    return 1
