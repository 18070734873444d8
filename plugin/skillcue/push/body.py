"""The decision ``load``: the whole body of one skill, put into the request at once."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillcue.library.beside import files_beside
from skillcue.library.characters import nfc
from skillcue.loading import PAGE_CHARS, shown_name
from skillcue.push.render import advice_block, render_body
from skillcue.push.settings import PushSettings
from skillcue.push.turn import LoadedMark, mark_loaded, skill_version
from skillcue_hooks import Scope, Skill
from skillcue_hooks.errors import SkillFileError

if TYPE_CHECKING:
    from skillcue.library.protocols import Snapshot

__all__ = ["REFUSED", "Body", "is_refused", "load_body"]

log = logging.getLogger("skillcue.push")

REFUSED = "it is frozen and has changed"
"""Why a skill is not offered whose load would be refused."""


@dataclass(frozen=True, slots=True)
class Body:
    """What loading at once came to.

    Attributes:
        text: The block, "" where the body is not given.
        reason: Why it is or is not.
    """

    text: str
    reason: str


def is_refused(skill: Skill, snapshot: Snapshot) -> bool:
    """Whether a load of `skill` would be refused: its source pins it, and it is not what it was.

    What a source holds is compared when it is looked at; files beside a skill change in between.
    """
    check = getattr(snapshot.source_of(skill), "check_skill", None)
    if check is None:
        return False
    try:
        check(skill)
    except SkillFileError as error:
        log.warning("%s is not offered: %s", skill.id, error.message)
        return True
    return False


def load_body(
    skill: Skill,
    snapshot: Snapshot,
    scope: Scope | None,
    load_tool: str | None,
    settings: PushSettings,
) -> Body:
    """The block that holds the whole body of `skill`, if it may be given.

    The text must be the one the library was read with: nobody asked for this body, so nothing may
    stand in it that no assessor has seen.

    Args:
        skill: A skill that may be pushed.
        snapshot: The library.
        scope: What a policy allows.
        load_tool: Name of the bound load tool; None when none is bound.
        settings: `load_tokens` is what the block may take.
    """
    source = snapshot.source_of(skill)
    try:
        body, base_dir = source.read_body(skill), source.base_dir(skill)
        beside = None if base_dir else files_beside(source, skill)
        has_files = base_dir is not None or (beside and beside.listing(1).paths)
    except Exception:  # a source may raise anything; then the skill is offered, as without `load`
        log.warning("the body of %s cannot be read and is not loaded", skill.id, exc_info=True)
        return Body("", "its body cannot be read")
    if not body.strip() or not nfc(body).startswith(nfc(skill.body)):
        return Body("", "its body is not the one the library was read with")
    call = ""
    if load_tool and has_files:
        name = json.dumps(shown_name(skill, snapshot, scope), ensure_ascii=False)
        call = f'{load_tool}(name={name}, file="...")'
    mark = mark_loaded(LoadedMark(skill.id, skill_version(skill), 1, 1, None))
    block = advice_block(render_body(skill, mark, body, base_dir, call))
    if len(body) > PAGE_CHARS or settings.count_tokens(block) > settings.load_tokens:
        return Body("", "its body is longer than load_tokens")
    return Body(block, "its body is loaded at once")
