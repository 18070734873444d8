"""A second opinion on the turns that the gate is not sure of.

A small fast model may be asked about a turn whose confidence lies near the threshold: it sees the
message and the few best candidates, and says which of them to offer, or none. All other turns, by
far the most of them, cost nothing. Whatever goes wrong, the gate's decision stands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillcue.push.judge_prompt import PROMPT_VERSION, SYSTEM, judge_data, labels, named_ids
from skillcue_adapters.asking import InvalidAnswerError, Question, ask
from skillcue_hooks import Hit, Rejection, Skill, Turn, Usage
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.fingerprint import fingerprint

if TYPE_CHECKING:
    from skillcue.push.gate import Verdict
    from skillcue_hooks.protocols import CacheStore, LanguageModel

__all__ = ["Judge", "JudgeSettings", "Judged", "gate_saw_all", "open_judge"]

MOST_CANDIDATES = 5
"""Largest shortlist."""

NOT_JUDGED = "not judged: "
"""Begins what `Advice.degraded` says of a judge that failed."""

BORDER = 1e-9
"""Confidence and threshold are sums of decimal fractions: so little beside a border is on it."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """When and how a language model is asked whether to speak on a turn.

    Of the turns that need no skill, the share ``below + above`` is asked about: confidence counts
    just these turns.

    Attributes:
        llm: The model: whatever `SkillCue` takes as `llm`. None takes that of the `SkillCue`.
        below: It is asked where the confidence is at most this far below the threshold, 0 to 1.
        above: The same above the threshold, 0 to 1.
        candidates: Skills that it sees at most, 1 to 5.
        message_chars: Longer messages are shown by their beginning and end, characters; of earlier
            messages of the user half as much is shown.
        max_tokens: Longest answer, tokens.
        timeout_s: Longest time for the answer, seconds.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of range.
    """

    llm: Any = field(default=None, hash=False, repr=False)
    below: float = 0.1
    above: float = 0.03
    candidates: int = MOST_CANDIDATES
    message_chars: int = 2_000
    max_tokens: int = 120
    timeout_s: float = 3.0

    def __post_init__(self) -> None:
        ranges = {
            "below": (0, 1),
            "above": (0, 1),
            "candidates": (1, MOST_CANDIDATES),
            "message_chars": (10, 100_000),
            "max_tokens": (16, 10_000),
            "timeout_s": (0.05, 120),
        }
        for item in fields(self):
            if item.name in ranges:
                _check(item.name, getattr(self, item.name), *ranges[item.name])


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict after the judge was asked.

    Attributes:
        verdict: What holds now.
        usage: What the model took; nothing where the answer was known.
        degraded: Why the gate's decision stands although the judge was to be asked, else None.
    """

    verdict: Verdict
    usage: Usage = field(default_factory=Usage)
    degraded: str | None = None


class Judge:
    """Asks a model about uncertain turns, each at most once; safe to share between threads.

    Args:
        settings: When and how.
        model: The model.
        answers: Where answers are remembered.
    """

    def __init__(self, settings: JudgeSettings, model: LanguageModel, answers: CacheStore) -> None:
        self._settings = settings
        self._model = model
        self._answers = answers

    def close(self) -> None:
        """Release the files in which answers are remembered."""
        self._answers.close()

    def hear(self, verdict: Verdict, turn: Turn, limit: int) -> Judged:
        """What the judge makes of `verdict`.

        Args:
            verdict: What the gate says.
            turn: The turn.
            limit: Offer at most this many.
        """
        fresh = _fresh(verdict, turn.visible_skills)
        shortlist = fresh[: self._settings.candidates] if self._unsure(verdict) else ()
        if not shortlist:
            return Judged(verdict)
        key = self._key(shortlist, turn)
        skills = [hit.skill for hit in shortlist]
        chosen = _remembered(self._answers.get(key), skills)
        usage = Usage()
        if chosen is None:
            chosen, failure, usage = self._asked(skills, turn)
            if chosen is None:
                reason = f"{verdict.reason}; the judge did not decide: {failure}"
                return Judged(replace(verdict, reason=reason), usage, NOT_JUDGED + failure)
            self._answers.put(key, json.dumps({"skills": chosen}))
        return Judged(_overruled(verdict, fresh, chosen[:limit]), usage)

    def _unsure(self, verdict: Verdict) -> bool:
        """The gate was asked, and its confidence is near the threshold."""
        if "score" not in verdict.features or verdict.threshold >= 1.0:
            return False
        distance = verdict.confidence - verdict.threshold
        return -self._settings.below - BORDER <= distance <= self._settings.above + BORDER

    def _key(self, shortlist: Sequence[Hit], turn: Turn) -> str:
        skills = [[hit.skill.id, hit.skill.content_hash] for hit in shortlist]
        settings = self._settings
        sizes = (settings.message_chars, settings.max_tokens)
        said = (turn.user_text, turn.earlier)
        return fingerprint("judge", PROMPT_VERSION, self._model.fingerprint, sizes, said, skills)

    def _asked(self, shortlist: Sequence[Skill], turn: Turn) -> tuple[list[str] | None, str, Usage]:
        """(ids that the model names, why there are none, what it took)."""
        known = labels(shortlist)
        question = Question(
            SYSTEM,
            judge_data(turn, shortlist, self._settings.message_chars),
            lambda answer: named_ids(answer, known),
            attempts=1,
            max_tokens=self._settings.max_tokens,
            timeout_s=self._settings.timeout_s,
        )
        reply = ask(self._model, question)
        return reply.value, reply.failure, reply.usage


def open_judge(
    settings: JudgeSettings | None, model: LanguageModel | None, cache_dir: Path | None
) -> Judge | None:
    """The judge that `settings` describe; None for None.

    Args:
        settings: As the user gave them.
        model: The model of the `SkillCue`, None where it has none.
        cache_dir: The user's cache folder, in which answers survive; None keeps them in memory.

    Raises:
        ConfigurationError: There is no model, or what was given is none.
    """
    if settings is None:
        return None
    if settings.llm is not None:
        from skillcue_adapters.language_models import open_language_model

        model = open_language_model(settings.llm).for_mode("judge")
    if model is None:
        raise ConfigurationError(
            "The judge needs a language model, and none was given.",
            "Pass one: SkillCue(..., llm=model), or JudgeSettings(llm=model).",
        )
    from skillcue_adapters.caching.answers import open_answers  # costs numpy only where used

    return Judge(settings, model, open_answers(cache_dir))


def gate_saw_all(degraded: str | None) -> bool:
    """Whether the gate decided on as much as it can, although the judge may have failed.

    Such a decision is as good as one without a judge: it lasts, and gates are fitted to it.

    Args:
        degraded: `Advice.degraded`.
    """
    return degraded is None or degraded.startswith(NOT_JUDGED)


def _fresh(verdict: Verdict, visible: Collection[str]) -> tuple[Hit, ...]:
    """What the gate looked at and is not at hand, best first."""
    hits = [*verdict.offered, *(item.hit for item in verdict.rejected)]
    return tuple(sorted((h for h in hits if h.skill.id not in visible), key=lambda h: h.rank))


def _overruled(verdict: Verdict, fresh: Sequence[Hit], chosen: Sequence[str]) -> Verdict:
    """`verdict` with what the model chose in the place of what the gate did."""
    by_id = {hit.skill.id: hit for hit in fresh}
    offered = tuple(by_id[skill_id] for skill_id in chosen)
    names = ", ".join(hit.skill.name for hit in offered) or "no skill"
    near = f"confidence {verdict.confidence:.3f} is near {verdict.threshold:.3f}"
    kept = [item for item in verdict.rejected if item.hit.skill.id not in by_id]
    others = (Rejection(hit, f"the judge named {names}") for hit in fresh if hit not in offered)
    return replace(
        verdict,
        offered=offered,
        rejected=(*kept, *others),
        reason=f"{near}, and the judge names {names}",
        sure=verdict.sure and offered == verdict.offered[:1],
    )


def _remembered(stored: str | None, shortlist: Sequence[Skill]) -> list[str] | None:
    """A stored answer, checked again, since others may write to the folder."""
    if stored is None:
        return None
    try:
        return named_ids(stored, {skill.id: skill.id for skill in shortlist})
    except InvalidAnswerError:
        return None


def _check(name: str, value: object, low: float, high: float) -> None:
    whole = isinstance(low, int) and high > 1
    kind = int if whole else (int, float)
    if (
        isinstance(value, bool)
        or not isinstance(value, kind)
        or not math.isfinite(value)
        or not low <= value <= high
    ):
        what = "whole number" if whole else "number"
        raise ConfigurationError(
            f"Judge setting {name} is {value!r}.", f"Use a {what} from {low} to {high}."
        )
