"""Plugins for tests: policies, assessors, observers and wordings that do what they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillcue_hooks import (
    Advice,
    Diagnostic,
    Library,
    LoadedSkill,
    Query,
    Ranking,
    Scope,
    Skill,
    Turn,
    hookimpl,
)

__all__ = ["Assessor", "ModePolicy", "Observer", "Policy", "Wording"]


class Policy:
    """Shows what `allows` says; `hidden` names are hidden. Can be changed while in use.

    Args:
        hidden: Names that are hidden.
        key: Key of the scope; by default it says what is hidden.
    """

    def __init__(self, *hidden: str, key: str | None = None) -> None:
        self.hidden = set(hidden)
        self.key = key
        self.contexts: list[dict[str, Any]] = []
        self.asked = 0
        self.error: Callable[[Skill], Exception | None] = lambda skill: None

    @hookimpl
    def skillcue_filter_skills(self, context: Mapping[str, Any], library: Library) -> Scope:
        self.contexts.append(dict(context))
        hidden = self.hidden | set(context.get("hide", ()))
        key = f"hidden:{sorted(hidden)}" if self.key is None else self.key
        return Scope(key, lambda skill: self._allows(skill, hidden))

    def _allows(self, skill: Skill, hidden: set[str]) -> bool:
        self.asked += 1
        error = self.error(skill)
        if error:
            raise error
        return skill.name not in hidden


class Assessor:
    """Finds an error in every skill of `names`, or raises on them."""

    def __init__(self, *names: str, error: Exception | None = None) -> None:
        self.names = set(names)
        self.error = error
        self.asked: list[str] = []

    @hookimpl
    def skillcue_assess_skill(self, skill: Skill) -> tuple[Diagnostic, ...] | None:
        self.asked.append(skill.name)
        if skill.name not in self.names:
            return None
        if self.error:
            raise self.error
        return (Diagnostic("test-risk", "error", skill.path, None, "It is risky.", "Do not."),)


class FileAssessor:
    """Answers what `answer` gives for path and text, or raises it."""

    def __init__(self, answer: Callable[[Path, str], Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Path, str]] = []

    @hookimpl
    def skillcue_assess_file(self, skill: Skill, path: Path, text: str) -> Any:
        self.asked.append((skill.name, path, text))
        answer = self.answer(path, text)
        if isinstance(answer, Exception):
            raise answer
        return answer


class ModePolicy:
    """Answers `mode` for every turn, or raises it."""

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self.turns: list[tuple[Turn, str, int]] = []

    @hookimpl
    def skillcue_select_mode(self, turn: Turn, default: str, library_size: int) -> Any:
        self.turns.append((turn, default, library_size))
        if isinstance(self.mode, Exception):
            raise self.mode
        return self.mode


class Observer:
    """Remembers everything it is told, and raises `error` afterwards."""

    def __init__(self, error: Exception | None = None) -> None:
        self.advised: list[Advice] = []
        self.looked_up: list[tuple[Query, Ranking]] = []
        self.loaded: list[LoadedSkill] = []
        self.error = error

    @hookimpl
    def skillcue_advised(self, advice: Advice) -> None:
        self.advised.append(advice)
        self._fail()

    @hookimpl
    def skillcue_looked_up(self, query: Query, ranking: Ranking) -> None:
        self.looked_up.append((query, ranking))
        self._fail()

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill) -> None:
        self.loaded.append(loaded)
        self._fail()

    def _fail(self) -> None:
        if self.error:
            raise self.error


class Wording:
    """Renders advice with a function of its own."""

    def __init__(self, render: Callable[[Advice], Any]) -> None:
        self.render = render

    @hookimpl
    def skillcue_render_advice(self, advice: Advice) -> Any:
        return self.render(advice)
