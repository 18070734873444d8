"""The four commands of the sub-agent: three searches and reading a page of a skill.

Keyword search is mode ``bm25``, semantic search mode ``dense``, hybrid search mode ``hybrid``, as in
the retrieval server of Liu et al. in the reimplementation of SkillSeek
(https://arxiv.org/abs/2609.38822, appendix D). Every search keeps to the policy and the filters
of the query that the refinement is made for.
"""

from __future__ import annotations

import html
import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillcue_adapters.refine.quoting import escaped, one_line, plain_line, plain_text, quoted
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.skill_lookup import SkillLookup
from skillcue_adapters.stages import innermost
from skillcue_adapters.token_estimate import estimate_tokens
from skillcue_hooks.contracts import Hit, Library, Query, Scope, Skill
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.protocols import Retriever

__all__ = ["COMMANDS", "Answer", "Commands"]

SEARCHES = {"keyword": "bm25", "semantic": "dense", "hybrid": "hybrid"}
"""Search command to the mode that answers it."""

COMMANDS = (*SEARCHES, "detail")

DESCRIPTION_CHARS = 240
"""Longest description in a list of results, characters."""

PAGE_DESCRIPTION_CHARS = 1_024
"""Longest description above a page, characters."""

QUERY_CHARS = 2_000
"""Longest query of a search, characters; the rest is not looked at."""

WAIT_SHARE = 0.25
"""Share of the time left that one search waits for an index that is not complete."""

log = logging.getLogger("skillcue.refine")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave.

    Attributes:
        text: For the model.
        summary: For people, on one line.
        brief: For the model as well, where it has read `text` already and room is scarce; "" where
            all of `text` is needed.
        problem: Why it gave nothing, where that is not for lack of anything to find, as a sentence
            about all commands of which most are like this; else "".
    """

    text: str
    summary: str = ""
    brief: str = ""
    problem: str = ""


class Commands:
    """Runs commands and remembers which skills were read. For one refinement.

    Args:
        library: What is searched.
        retriever: Gives the retriever of a mode.
        scope: What a policy allows; None allows everything.
        settings: How many commands there are, and how much one shows.

    Attributes:
        read: The skills of which a page was read, by id.
        found: Ids of the skills that searches showed.
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
        self.found: set[str] = set()
        self.used = 0
        self.complete = True
        self._lookup = SkillLookup(library)
        self._shown: dict[str, Skill] = {}
        self._retriever = retriever
        self._scope = scope
        self._settings = settings

    @property
    def left(self) -> int:
        """Commands that may still be run."""
        return self._settings.commands - self.used

    def run(self, name: str, arguments: Mapping[str, Any], room: int, left_s: float) -> Answer:
        """Run one command; whatever is wrong with it becomes a readable answer.

        Args:
            name: As the model wrote it.
            arguments: As the model wrote them.
            room: Tokens that the answer may have, about; a page or a list is cut to them.
            left_s: Seconds that are left of the refinement.
        """
        self.used += 1
        if name == "detail":
            return self._detail(arguments, room)
        if name in SEARCHES:
            return self._search(name, arguments, room, left_s)
        known = ", ".join((*COMMANDS, "finish"))
        return _error(f"There is no command {plain_line(name, 40)}. Commands: {known}.")

    def _search(self, name: str, arguments: Mapping[str, Any], room: int, left_s: float) -> Answer:
        text = arguments.get("query")
        if not isinstance(text, str) or not text.strip():
            return _error(f"{name} needs `query`, a text.")
        query = Query(text.strip()[:QUERY_CHARS], k=self._settings.results, scope=self._scope)
        try:
            retriever = self._retriever(SEARCHES[name])
            wait = getattr(innermost(retriever), "wait_ready", None)
            if wait is not None:
                wait(max(left_s, 0.0) * WAIT_SHARE)
            ranking = retriever.search(query)
            known = self._lookup.get(hit.skill.id for hit in ranking.hits)
        except Exception as error:  # a mode or its encoder may raise anything; others may answer
            log.warning("search command %s failed", name, exc_info=error)
            self.complete = False
            broken = f"{name} search is out of order ({type(error).__name__})"
            return _error(f"{broken}; try another.", f"its commands found no answer: {broken}")
        self.complete = self.complete and ranking.degraded is None
        hits = [h for h in ranking.hits if h.skill.id in known and self._visible(h.skill)]
        self._shown |= {hit.skill.id: known[hit.skill.id] for hit in hits}
        if not hits:
            return Answer(f"{name} search found nothing; try other words.", "nothing found")
        lines = [_line(hit) for hit in hits]
        fit = max(_prefix(len(lines), room, lambda n: _results(name, lines[:n])), 1)
        self.found.update(hit.skill.id for hit in hits[:fit])
        names = ", ".join(plain_line(hit.skill.name, 64) for hit in hits[:fit])
        brief = _results(name, [_line(hit, described=False) for hit in hits[:fit]])
        return Answer(_results(name, lines[:fit]), f"{fit} found: {names}", brief)

    def _detail(self, arguments: Mapping[str, Any], room: int) -> Answer:
        try:
            skill = self._named(arguments.get("skill"))
        except IndexUnavailableError as error:
            log.warning("a skill could not be read", exc_info=error)
            self.complete = False
            return _error("The library is out of reach; try again.")
        if skill is None:
            return _error("No skill has that id. Copy an id from the results of a search.")
        size, body = self._settings.page_chars, plain_text(skill.body)
        pages = max(-(-len(body) // size), 1)
        page = _whole(arguments.get("page"))
        if not 1 <= page <= pages:
            return _error(f"That skill has {pages} page(s); `page` is a whole number from 1.")
        self.read[skill.id] = skill
        text = body[(page - 1) * size : page * size]
        answer, shown = _page(skill, text, f'page="{page}" pages="{pages}"', room)
        cut = f" ({shown} of {len(text)} characters)" if shown < len(text) else ""
        return Answer(answer, f"read {plain_line(skill.id)}, page {page} of {pages}{cut}")

    def _named(self, given: object) -> Skill | None:
        """The visible skill with this id, as it is or as the results spell it, or this name."""
        if not isinstance(given, str):
            return None
        plain = html.unescape(given.strip())
        known = self._lookup.get((given.strip(), plain))
        for wanted in (given.strip(), plain):
            found = known.get(wanted)
            if found is not None:
                return found if self._visible(found) else None
        line = one_line(plain)
        walked = self._lookup.in_memory() or self._shown.values()
        shown = [s for s in walked if one_line(s.id) == line and self._visible(s)]
        meant = shown or [s for s in self._lookup.named(given.strip()) if self._visible(s)]
        return meant[0] if len(meant) == 1 else None

    def _visible(self, skill: Skill) -> bool:
        return self._scope is None or self._scope.allows(skill)


def _line(hit: Hit, *, described: bool = True) -> str:
    skill = hit.skill
    line = f'{hit.rank}. id="{one_line(skill.id)}" {one_line(skill.name)}'
    return f"{line}: {one_line(skill.description, DESCRIPTION_CHARS)}" if described else line


def _results(name: str, lines: Sequence[str]) -> str:
    return "\n".join((f'<results command="{name}">', *map(quoted, lines), "</results>"))


def _page(skill: Skill, text: str, place: str, room: int) -> tuple[str, int]:
    """A page within `room` tokens, and how many characters of `text` it shows."""
    about = f"{one_line(skill.name)}: {one_line(skill.description, PAGE_DESCRIPTION_CHARS)}"

    def written(shown: int) -> str:
        cut = f' shown="{shown} of {len(text)} characters"' if shown < len(text) else ""
        opened = f'<skill id="{one_line(skill.id)}" {place}{cut}>'
        return "\n".join((opened, quoted(about), quoted(text[:shown]), "</skill>"))

    shown = _prefix(len(text), room, written)
    return written(shown), shown


def _prefix(length: int, room: int, written: Callable[[int], str]) -> int:
    """The longest beginning, 0 to `length`, that is written in at most `room` tokens."""
    if estimate_tokens(written(length)) <= room:
        return length
    return bisect_right(range(1, length), room, key=lambda n: estimate_tokens(written(n)))


def _error(text: str, problem: str = "") -> Answer:
    problem = problem or f"its commands were not understood: {text}"
    return Answer(f"Error: {escaped(text)}", f"error: {text}", problem=problem)


def _whole(value: object) -> int:
    """A page number however it is written; 0, which is no page, for what is none."""
    if value is None or value == "":
        return 1
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return 0
