"""The four commands of the sub-agent: three searches and reading a page of a skill.

Keyword search is mode ``bm25``, semantic search mode ``dense``, hybrid search mode ``hybrid``, as in
the retrieval server of Liu et al. in the reimplementation of SkillSeek
(https://arxiv.org/abs/2609.38822, appendix D). Every search keeps to the policy and the filters
of the query that the refinement is made for.
"""

from __future__ import annotations

import html
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skillcue_adapters.refine.quoting import one_line, quoted
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.stages import innermost
from skillcue_hooks.contracts import Hit, Library, Query, Scope, Skill
from skillcue_hooks.protocols import Retriever

__all__ = ["COMMANDS", "Answer", "Commands"]

SEARCHES = {"keyword": "bm25", "semantic": "dense", "hybrid": "hybrid"}
"""Search command to the mode that answers it."""

COMMANDS = (*SEARCHES, "detail")

DESCRIPTION_CHARS = 240
"""Longest description in a list of results, characters."""

QUERY_CHARS = 2_000
"""Longest query of a search, characters; the rest is not looked at."""

WAIT_SHARE = 0.25
"""Share of the time of a refinement that one search waits for an index that is not complete."""

log = logging.getLogger("skillcue.refine")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave.

    Attributes:
        text: For the model.
        summary: For people, on one line.
    """

    text: str
    summary: str


class Commands:
    """Runs commands and remembers which skills were read. For one refinement.

    Args:
        library: What is searched.
        retriever: Gives the retriever of a mode.
        scope: What a policy allows; None allows everything.
        settings: How many commands there are, and how much one shows.

    Attributes:
        read: The skills of which a page was read, by id.
        used: Commands that were run, failed ones included.
        complete: No search was answered by less than its mode can do.
    """

    def __init__(
        self,
        library: Library,
        retriever: Callable[[str], Retriever],
        scope: Scope | None,
        settings: RefineSettings,
    ) -> None:
        self.read: dict[str, Skill] = {}
        self.used = 0
        self.complete = True
        self._skills = {skill.id: skill for skill in library.skills}
        self._retriever = retriever
        self._scope = scope
        self._settings = settings

    @property
    def left(self) -> int:
        """Commands that may still be run."""
        return self._settings.commands - self.used

    def run(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Run one command; whatever is wrong with it becomes a readable answer."""
        self.used += 1
        if name == "detail":
            return self._detail(arguments)
        if name in SEARCHES:
            return self._search(name, arguments)
        known = ", ".join((*COMMANDS, "finish"))
        return _error(f"There is no command {one_line(name, 40)}. Commands: {known}.")

    def _search(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        text = arguments.get("query")
        if not isinstance(text, str) or not text.strip():
            return _error(f"{name} needs `query`, a text.")
        query = Query(text.strip()[:QUERY_CHARS], k=self._settings.results, scope=self._scope)
        try:
            retriever = self._retriever(SEARCHES[name])
            wait = getattr(innermost(retriever), "wait_ready", None)
            if wait is not None:
                wait(self._settings.seconds * WAIT_SHARE)
            ranking = retriever.search(query)
        except Exception as error:  # a mode or its encoder may raise anything; others may answer
            log.warning("search command %s failed", name, exc_info=error)
            self.complete = False
            return _error(f"{name} search is out of order ({type(error).__name__}); try another.")
        self.complete = self.complete and ranking.degraded is None
        hits = [hit for hit in ranking.hits if self._visible(hit.skill)]
        lines = [f'<results command="{name}">', *map(_line, hits), "</results>"]
        if not hits:
            lines = [f"{name} search found nothing; try other words."]
        names = ", ".join(one_line(hit.skill.name, 64) for hit in hits)
        return Answer("\n".join(lines), f"{len(hits)} found: {names}" if hits else "nothing found")

    def _detail(self, arguments: Mapping[str, Any]) -> Answer:
        skill = self._named(arguments.get("skill"))
        if skill is None:
            return _error("No skill has that id. Copy an id from the results of a search.")
        size = self._settings.page_chars
        pages = max(-(-len(skill.body) // size), 1)
        page = _whole(arguments.get("page"))
        if not 1 <= page <= pages:
            return _error(f"That skill has {pages} page(s); `page` is a whole number from 1.")
        self.read[skill.id] = skill
        text = skill.body[(page - 1) * size : page * size]
        opened = f'<skill id="{one_line(skill.id)}" page="{page}" pages="{pages}">'
        about = f"{one_line(skill.name)}: {one_line(skill.description)}"
        answer = "\n".join((opened, about, quoted(text), "</skill>"))
        return Answer(answer, f"read {one_line(skill.id)}, page {page} of {pages}")

    def _named(self, given: object) -> Skill | None:
        """The visible skill with this id, as it is or as the results spell it, or this name."""
        if not isinstance(given, str):
            return None
        for wanted in (given.strip(), html.unescape(given.strip())):
            found = self._skills.get(wanted)
            if found is not None:
                return found if self._visible(found) else None
        named = [s for s in self._skills.values() if s.name == given.strip() and self._visible(s)]
        return named[0] if len(named) == 1 else None

    def _visible(self, skill: Skill) -> bool:
        return skill.id in self._skills and (self._scope is None or self._scope.allows(skill))


def _line(hit: Hit) -> str:
    skill = hit.skill
    described = one_line(skill.description, DESCRIPTION_CHARS)
    return f'{hit.rank}. id="{one_line(skill.id)}" {one_line(skill.name)}: {described}'


def _error(text: str) -> Answer:
    return Answer(f"Error: {text}", f"error: {text}")


def _whole(value: object) -> int:
    """A page number however it is written; 0, which is no page, for what is none."""
    if value is None or value == "":
        return 1
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return 0
