"""What assessors say of a file of a skill, asked when it is handed out."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from skillcue.library.codes import diagnostic
from skillcue.untrusted import shown_finding
from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks.contracts import Diagnostic, Skill
from skillcue_hooks.manager import SkillcuePluginManager

__all__ = ["FileAssessor", "assess_file"]

FILES_KEPT = 256
"""Contents of files whose findings are remembered, least recent dropped."""
LOGGED = 3
"""Findings of one file that its log line names."""

log = logging.getLogger("skillcue.library")


class FileAssessor:
    """Asks about each content of a file once, and logs what was found. Thread-safe.

    Args:
        plugins: Whose ``skillcue_assess_file`` is asked.
    """

    def __init__(self, plugins: SkillcuePluginManager) -> None:
        self._plugins = plugins
        self._known: OrderedDict[tuple[str, ...], tuple[Diagnostic, ...]] = OrderedDict()
        self._lock = ForkSafeLock()

    def findings(self, skill: Skill, path: Path, data: bytes, text: str) -> tuple[Diagnostic, ...]:
        """What is found in a file; a failure is one of severity ``error``, asked again next time.

        Args:
            skill: The skill it belongs to.
            path: The file.
            data: Its bytes.
            text: The same as text, hidden characters included.
        """
        if not self._plugins.hook.skillcue_assess_file.get_hookimpls():
            return ()
        key = (skill.id, skill.content_hash, str(path), hashlib.sha256(data).hexdigest())
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found, whole = _asked(self._plugins, skill, path, text)
        if whole:
            self._remember(key, found)
        if found:
            _log(skill, path, found)
        return found

    def _remember(self, key: tuple[str, ...], found: tuple[Diagnostic, ...]) -> None:
        with self._lock:
            self._known[key] = found
            while len(self._known) > FILES_KEPT:
                self._known.popitem(last=False)


def assess_file(
    plugins: SkillcuePluginManager, skill: Skill, path: Path, text: str
) -> tuple[Diagnostic, ...]:
    """What is found in a file, as `FileAssessor.findings`, neither remembered nor logged."""
    return _asked(plugins, skill, path, text)[0]


def _asked(
    plugins: SkillcuePluginManager, skill: Skill, path: Path, text: str
) -> tuple[tuple[Diagnostic, ...], bool]:
    """What is found, and whether every plugin has answered."""
    failed: list[Exception] = []
    answers = plugins.collect(
        "skillcue_assess_file",
        lambda _plugin, error: failed.append(error),
        skill=skill,
        path=path,
        text=text,
    )
    found: list[Diagnostic] = []
    for answer in answers:
        try:
            found += _checked(answer)
        except TypeError as error:
            failed.append(error)
    for failure in failed:  # a scanner that fails must not make a file look safe
        message = f"{skill.id}: {type(failure).__name__}: {failure}"
        found.append(diagnostic("assessment-failed", path, message))
    return tuple(found), not failed


def _checked(answer: object) -> Sequence[Diagnostic]:
    """`answer` of a plugin, if it is what the hook may answer.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(answer, tuple | list) or not all(isinstance(i, Diagnostic) for i in answer):
        raise TypeError("skillcue_assess_file answered something that is no tuple of Diagnostic")
    return answer


def _log(skill: Skill, path: Path, found: Sequence[Diagnostic]) -> None:
    severe = [item for item in found if item.severity == "error"]
    milder = [item for item in found if item.severity != "error"]
    shown = map(shown_finding, (*severe, *milder)[:LOGGED])
    more = f" and {len(found) - LOGGED} more" if len(found) > LOGGED else ""
    what = "agents get it as a quotation" if severe else "agents get it as it is"
    log.warning("%s of %s: %s%s; %s", path, skill.id, ", ".join(shown), more, what)
