"""Suggestions of one `SkillCue`: what is learned, to whom it is shown, and that it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skillcue.library.protocols import Snapshot
from skillcue.push.messages import view_messages
from skillcue.push.turn import loaded_skills
from skillcue.successors.model import NextModel, is_control
from skillcue.successors.settings import NextSettings
from skillcue.successors.suggestions import NextSkill, suggested
from skillcue.telemetry.facts import session_hash
from skillcue.telemetry.observer import EventObserver
from skillcue.telemetry.settings import EventSpec, event_settings
from skillcue.traces.conversation import asking_in
from skillcue_hooks.contracts import Scope, Skill
from skillcue_hooks.errors import ConfigurationError

__all__ = ["Successors", "open_successors"]


class Successors:
    """Suggests what comes next.

    Args:
        settings: What it takes to be suggested.
        model: What was learned; None where nothing is.
        observer: Is told what was shown.
    """

    def __init__(
        self, settings: NextSettings, model: NextModel | None, observer: EventObserver | None
    ) -> None:
        self._settings = settings
        self._model = model
        self._observer = observer

    def suggest(
        self,
        skill: Skill,
        snapshot: Snapshot,
        scope: Scope | None,
        context: Mapping[str, Any],
        messages: Sequence[Any],
        load_tool: str,
    ) -> tuple[NextSkill, ...]:
        """What is suggested after `skill`; what of it was learned is told to the observer.

        Args:
            skill: What was loaded.
            snapshot: The library.
            scope: What the policy allows.
            context: Run-time values of the framework.
            messages: The conversation.
            load_tool: Name of the load tool in it.
        """
        session = session_hash(context)
        control = session is not None and is_control(session, self._settings.control)
        learned = None if self._model is None or control else self._model.learned()
        seen = loaded_skills(view_messages(messages), load_tool)
        found = suggested(skill, snapshot, scope, learned, seen)
        shown = [item.skill.id for item in found if item.evidence is not None]
        if shown and self._observer is not None:
            with asking_in(messages):
                self._observer.suggested(skill.id, shown, context)
        return found

    def fit(self) -> None:
        """Learn now, if anything is new."""
        if self._model is not None:
            self._model.try_fit()

    def close(self) -> None:
        """Learn nothing any more."""
        if self._model is not None:
            self._model.close()


def open_successors(
    settings: NextSettings,
    events: EventSpec | None,
    observer: EventObserver | None,
    snapshot: Callable[[], Snapshot],
) -> Successors:
    """Suggestions as the user set them up.

    Raises:
        ConfigurationError: They are to be learned, and no events are stored.
    """
    if not settings.learn:
        return Successors(settings, None, None)
    if events is None:
        raise ConfigurationError(
            "next_skills learns from stored events, and none are stored.",
            'Pass events="events.db" as well; NextSettings(learn=False) shows only what skill files '
            "say.",
        )
    model = NextModel(event_settings(events).file, settings, snapshot)
    return Successors(settings, model, observer)
