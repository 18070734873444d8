"""Who may see what: the answers of all policy plugins joined to one scope, failing closed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from skillcue_hooks.contracts import Library, Scope, Skill
from skillcue_hooks.fingerprint import fingerprint
from skillcue_hooks.manager import SkillcuePluginManager

__all__ = ["combined_scope"]

log = logging.getLogger("skillcue.policy")

_NOTHING = Scope("skillcue:denied", lambda _skill: False)


def combined_scope(
    plugins: SkillcuePluginManager, run_context: Mapping[str, Any], library: Library
) -> Scope | None:
    """What every policy plugin allows; None when no plugin has an opinion.

    A plugin that raises, answers something that is not a `Scope`, or whose ``allows`` raises,
    hides everything it was asked about.

    Args:
        plugins: The manager.
        run_context: Run-time values from the framework.
        library: The library the policy is about.
    """
    scopes = plugins.collect(
        "skillcue_filter_skills",
        lambda _plugin, _error: _NOTHING,
        context=run_context,
        library=library,
    )
    if not scopes:
        return None
    checked = [scope if isinstance(scope, Scope) else _NOTHING for scope in scopes]
    if len(checked) == 1:
        key = checked[0].key
    else:
        key = fingerprint(sorted(scope.key for scope in checked))
    return Scope(key, lambda skill: _all_allow(checked, skill))


def _all_allow(scopes: Sequence[Scope], skill: Skill) -> bool:
    try:
        return all(scope.allows(skill) is True for scope in scopes)
    except Exception:  # a policy that cannot answer must not let anything through
        log.exception("a policy failed on %s; the skill stays hidden", skill.id)
        return False
