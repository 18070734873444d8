"""Augments a library: what is missing, what that would cost, and making it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from skillcue_adapters.augment.augmentation import Augmentation, augment_by_rules, content_key
from skillcue_adapters.augment.by_model import (
    MAX_OUTPUT_TOKENS,
    NoAnswer,
    augment_by_model,
    maker_of,
    prompt,
)
from skillcue_adapters.augment.skill_graph import parse_skill_graph
from skillcue_adapters.augment.store import AugmentationStore
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.contracts import Skill
from skillcue_hooks.language import Usage
from skillcue_hooks.protocols import LanguageModel

__all__ = ["GIVE_UP_AFTER", "Outcome", "Todo", "augment_missing", "estimated_usage", "missing"]

log = logging.getLogger("skillcue.augment")

GIVE_UP_AFTER = 5
"""A model that gave no answer for so many skills in a row is not asked again in this run."""

WORKERS = 4
"""Skills that a model is asked about at once."""


@dataclass(frozen=True, slots=True)
class Todo:
    """What is to be made.

    Attributes:
        skills: One skill of each content that is missing.
        known: Contents that are there.
    """

    skills: tuple[Skill, ...]
    known: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was made.

    Attributes:
        made: Skills that were augmented.
        fallbacks: (skill id, reason) of those that the rules augmented although a model was to.
        usage: What the model took.
    """

    made: int
    fallbacks: tuple[tuple[str, str], ...]
    usage: Usage


def missing(skills: Iterable[Skill], store: AugmentationStore, model: LanguageModel | None) -> Todo:
    """What `model`, or the rules without one, have not made yet; equal content counts once."""
    maker = maker_of(model)
    keys = {content_key(skill): skill for skill in reversed(list(skills))}
    todo = [skill for key, skill in keys.items() if store.get(key, maker) is None]
    return Todo(tuple(sorted(todo, key=lambda skill: skill.id)), len(keys) - len(todo))


def estimated_usage(todo: Todo) -> Usage:
    """What a model takes for `todo`: one request a skill, answers of the greatest length.

    A skill whose answer needs repair takes a second request.
    """
    texts = ("\n".join(m.text for m in prompt(s, parse_skill_graph(s))) for s in todo.skills)
    number = len(todo.skills)
    return Usage(number, sum(map(estimate_tokens, texts)), number * MAX_OUTPUT_TOKENS, None, True)


def augment_missing(
    todo: Todo,
    store: AugmentationStore,
    model: LanguageModel | None,
    on_done: Callable[[int, int], object] = lambda _done, _total: None,
) -> Outcome:
    """Make and store what is missing; each skill is kept as soon as it is made.

    Where a model fails, what the rules make is stored as theirs, so that the next run asks again.

    Args:
        todo: What is missing.
        store: Where it is put.
        model: Makes it; None is the rules.
        on_done: Called with (skills made, of how many).

    Raises:
        ConfigurationError: Another process adds to the store, or it cannot be written.
    """
    fallbacks: list[tuple[str, str]] = []
    usage = Usage()
    done = 0
    with store.writing() as writer:
        for skill, made in _each(todo.skills, model):
            key = content_key(skill)
            if made.maker == "model":
                writer.put(key, maker_of(model), made)
            elif store.get(key, "rules") is None:
                writer.put(key, "rules", replace(made, fallback=None, usage=Usage()))
            usage += made.usage
            if made.fallback is not None:
                fallbacks.append((skill.id, made.fallback))
            done += 1
            on_done(done, len(todo.skills))
    return Outcome(done, tuple(sorted(fallbacks)), usage)


def _each(
    skills: Sequence[Skill], model: LanguageModel | None
) -> Iterator[tuple[Skill, Augmentation]]:
    if model is None:
        yield from ((skill, augment_by_rules(skill)) for skill in skills)
        return
    asking = _Asking(model)
    pool = ThreadPoolExecutor(WORKERS, "skillcue-augment")
    try:
        left = iter(skills)
        running: dict[Future[Augmentation], Skill] = {}
        while True:
            for skill in left:
                running[pool.submit(asking.about, skill)] = skill
                if len(running) == WORKERS:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:  # whoever interrupts does not wait for answers that nobody will read
        pool.shutdown(wait=False, cancel_futures=True)


class _Asking:
    """A model that is given up when it does not answer; safe to share between threads."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._failed = 0

    def about(self, skill: Skill) -> Augmentation:
        if self._failed >= GIVE_UP_AFTER:
            return replace(augment_by_rules(skill), fallback="the model was given up")
        made = augment_by_model(skill, self._model)
        with self._lock:
            self._failed = self._failed + 1 if isinstance(made, NoAnswer) else 0
            first = self._failed == 1
        if isinstance(made, NoAnswer) and first:  # a service that hangs takes minutes to give up
            log.warning(
                "the model gives no answer (%s); after %d in a row the rules go on alone",
                made.reason.rstrip("."),
                GIVE_UP_AFTER,
            )
        if isinstance(made, NoAnswer):
            return replace(augment_by_rules(skill), fallback=made.reason, usage=made.usage)
        return made
