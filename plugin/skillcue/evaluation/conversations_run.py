"""Ask the push advisor about every labelled user turn, in each mode, as an agent would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillcue.evaluation.composed import judged_ids
from skillcue.evaluation.conversations import Label, Labelled, LabelledConversation
from skillcue.evaluation.runner import (
    Progress,
    RunSettings,
    checked_modes,
    make_ready,
    mode_cue,
)
from skillcue.facade import SkillCue
from skillcue.push.settings import PushSettings
from skillcue.push.turn import LoadedMark, mark_loaded, skill_version
from skillcue_hooks.contracts import Advice, Skill
from skillcue_hooks.language import Usage

__all__ = ["PushRun", "TurnOutcome", "run_push"]

LOAD_TOOL = "skill_load"


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What push made of one labelled turn.

    Attributes:
        conversation: Id of the conversation.
        number: Of the user turn in its conversation, from 1.
        text: What the user says.
        label: What should be.
        confidence: As if each needed skill had been supplied when it was first needed, whatever
            push said: what the trade-off curve is made of.
        score: What the confidence was made of, likewise; None where the gate was not asked, since
            nothing new was found.
        first: Id of the best candidate that is not at hand, "" for none; likewise.
        always: The user named the skill, which needs no confidence.
        offered: Ids of the skills that push offered, best first, in a conversation that goes on
            with its own advice.
        at_hand: Ids of right skills that stand in that conversation before the turn, because push
            named them earlier, as a runner-up for instance.
        repeated: Those of `offered` that it had offered earlier in the conversation.
        threshold: What the confidence had to reach.
        degraded: Why a cheaper path answered, else None.
    """

    conversation: str
    number: int
    text: str
    label: Label
    confidence: float
    score: float | None
    first: str
    always: bool
    offered: tuple[str, ...]
    at_hand: frozenset[str]
    repeated: frozenset[str]
    threshold: float
    degraded: str | None


@dataclass(frozen=True, slots=True)
class PushRun:
    """One mode on all conversations.

    Attributes:
        mode: The mode.
        outcomes: One a labelled turn, in order.
        seconds: Time of each decision.
        tokens: Size of all advice, tokens.
        cost: What a language model took for all decisions.
    """

    mode: str
    outcomes: tuple[TurnOutcome, ...]
    seconds: tuple[float, ...]
    tokens: int
    cost: Usage = field(default_factory=Usage)


def run_push(
    data: Labelled,
    modes: Sequence[str],
    settings: RunSettings,
    push: PushSettings,
    progress: Progress,
) -> list[PushRun]:
    """Ask about all turns in every mode.

    Args:
        data: Conversations and skills.
        modes: Modes, each once.
        settings: Of the modes.
        push: Of the advisor.
        progress: Told how far it is.

    Raises:
        UnknownModeError: A mode is not registered.
        ConfigurationError: A mode does not get ready.
        MissingExtraError: A mode needs a package that is not installed.
    """
    encoder = checked_modes(modes, settings)
    runs = []
    for mode in modes:
        with mode_cue(data.pool.sources, mode, settings, encoder, push) as cue:
            progress(f"indexing for {mode}", 0, 0)
            make_ready(cue, mode, progress)
            runs.append(_run(cue, mode, data, progress))
    return runs


def _run(cue: SkillCue, mode: str, data: Labelled, progress: Progress) -> PushRun:
    outcomes: list[TurnOutcome] = []
    seconds: list[float] = []
    tokens, cost = 0, Usage()
    for number, conversation in enumerate(data.conversations):
        progress(f"conversations in {mode}", number, len(data.conversations))
        said = _replayed(cue, conversation)
        judged = _supplied(cue, conversation, data.pool.skills)
        shown: set[str] = set()
        labels = [turn for turn in conversation.turns if turn.label]
        for at, (turn, advice, ideal) in enumerate(zip(labels, said, judged, strict=True), 1):
            assert turn.label is not None
            offered = tuple(judged_ids(advice.hits))
            outcomes.append(
                TurnOutcome(
                    conversation=conversation.id,
                    number=at,
                    text=turn.text,
                    label=turn.label,
                    confidence=ideal.confidence,
                    score=ideal.features.get("score"),
                    first=_first(ideal),
                    always=bool(ideal.turn and ideal.turn.explicit),
                    offered=offered,
                    at_hand=turn.label.right & _visible(advice),
                    repeated=frozenset(shown & set(offered)),
                    threshold=advice.threshold,
                    degraded=advice.degraded,
                )
            )
            shown.update(offered)
            seconds.append(advice.elapsed_s)
            tokens += advice.tokens
            cost += advice.cost + ideal.cost
    return PushRun(mode, tuple(outcomes), tuple(seconds), tokens, cost)


def _replayed(cue: SkillCue, conversation: LabelledConversation) -> list[Advice]:
    """The decisions of an advisor that lives through the conversation."""
    advisor = cue.advisor(LOAD_TOOL)
    messages: list[dict[str, str]] = []
    found = []
    for number, turn in enumerate(conversation.turns):
        messages.append(_message(turn.role, turn.text, number))
        if turn.label:
            found.append(advisor.plan(messages).advice)
    return found


def _supplied(
    cue: SkillCue, conversation: LabelledConversation, skills: Mapping[str, Skill]
) -> list[Advice]:
    """The decisions where each needed skill is loaded in the turn that first needs it.

    The labels assume that. An advisor of its own for each turn keeps advice of earlier turns,
    right or wrong, from counting as what is at hand.
    """
    messages: list[dict[str, str]] = []
    found = []
    for number, turn in enumerate(conversation.turns):
        messages.append(_message(turn.role, turn.text, number))
        if not turn.label:
            continue
        alone = cue.advisor(LOAD_TOOL).plan(messages, records=_silent_before(conversation, number))
        found.append(alone.advice)
        if turn.label.need:
            marks = [_loaded(cue, skills[name]) for name in sorted(turn.label.right)]
            messages += [{"role": "tool", "name": LOAD_TOOL, "content": mark} for mark in marks]
    return found


def _silent_before(conversation: LabelledConversation, number: int) -> dict[str, list[str]]:
    """A record by which push was silent on the turn before; older turns are not looked at then."""
    earlier = [n for n, turn in enumerate(conversation.turns[:number]) if turn.label]
    return {_key(n): ["none"] for n in earlier[-1:]}


def _loaded(cue: SkillCue, skill: Skill) -> str:
    """What the load tool answers: a page counts as at hand where its whole text stands."""
    loaded = cue.load(skill.id)
    mark = LoadedMark(skill.id, skill_version(skill), 1, loaded.pages, None)
    return f"{mark_loaded(mark)}\n\n{loaded.text}"


def _message(role: str, text: str, number: int) -> dict[str, str]:
    return {"role": role, "content": text, "id": _key(number)}


def _key(number: int) -> str:
    return f"turn-{number}"


def _visible(advice: Advice) -> frozenset[str]:
    """Ids of the skills that stood in the conversation when the turn was decided."""
    return advice.turn.visible_skills if advice.turn else frozenset()


def _first(advice: Advice) -> str:
    """Best of the candidates that are not at hand: offered or not."""
    at_hand = _visible(advice)
    hits = [*advice.hits, *(item.hit for item in advice.rejected)]
    new = [hit for hit in hits if hit.skill.id not in at_hand]
    if advice.hits:
        return judged_ids(advice.hits)[0]
    best = min(new, key=lambda hit: (hit.rank, hit.skill.id)) if new else None
    return judged_ids([best])[0] if best else ""
