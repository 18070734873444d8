"""`SkillMiddleware` where nobody put it: it never stops an agent."""

from __future__ import annotations

import logging
from typing import Any

from langchain.agents.middleware.types import ModelRequest

from skillcue.langchain_middleware import SkillMiddleware
from skillcue.push.advisor import Plan

__all__ = ["GuestMiddleware"]

log = logging.getLogger("skillcue.deepagents")


class GuestMiddleware(SkillMiddleware):
    """As `SkillMiddleware`; what would be an error of the agent's author is logged instead.

    It has the name of its base, so that a `SkillMiddleware` that the author passes takes its
    place. Where the agent has other tools under the names of ours, it stands aside.
    """

    def _prepare(self, request: ModelRequest[Any]) -> tuple[ModelRequest[Any], Plan]:
        try:
            return super()._prepare(request)
        except Exception as error:  # noqa: BLE001  # such as a tool of that name, or an unknown mode
            log.warning("a deep agent goes on without skills: %s", error)
            return request, Plan()
