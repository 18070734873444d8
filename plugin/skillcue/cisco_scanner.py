"""Adapter for cisco-ai-skill-scanner: its offline analyzers as an assessor of skills.

It looks at a whole folder, files beside SKILL.md included, by signatures, YARA rules and the byte
code of scripts; https://github.com/cisco-ai-defense/skill-scanner says how. No language model and no
network is used.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillcue_adapters.locks import ForkSafeLock
from skillcue_hooks import Diagnostic, Skill, hookimpl
from skillcue_hooks.contracts import Severity
from skillcue_hooks.errors import ConfigurationError, MissingExtraError

__all__ = ["CiscoScanner"]

EACH_RULE = 3
"""Findings of one rule that are reported for one skill."""
LEVELS = ("INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL")
"""Severities of the scanner, mildest first."""


class CiscoScanner:
    """An assessor for ``SkillCue(..., plugins=[CiscoScanner()])``; needs ``skillcue[scanner]``.

    Building the scanner takes seconds and each skill some hundredths of one, so it is for libraries
    of hundreds of skills rather than of ten thousands. Skills without a folder are not looked at.

    Args:
        untrust: From this severity on (``MEDIUM``, ``HIGH``, ``CRITICAL``) a finding makes a skill
            untrusted.
        report: Findings below this severity are left out; those from it on and below `untrust` are
            warnings.

    Raises:
        ConfigurationError: One of the two is no severity, or `report` is above `untrust`.
        MissingExtraError: The scanner is not installed.
    """

    def __init__(self, untrust: str = "CRITICAL", report: str = "MEDIUM") -> None:
        for name, level in (("untrust", untrust), ("report", report)):
            if level not in LEVELS:
                raise ConfigurationError(
                    f"{name} is {level!r}.", f"Use one of {', '.join(LEVELS)}."
                )
        if LEVELS.index(report) > LEVELS.index(untrust):
            raise ConfigurationError(
                f"report is {report}, above untrust ({untrust}).",
                "Report from the severity on that takes trust away, or from a milder one.",
            )
        if importlib.util.find_spec("skill_scanner") is None:
            raise MissingExtraError("cisco-ai-skill-scanner", extra="scanner")
        self._untrust = LEVELS.index(untrust)
        self._report = LEVELS.index(report)
        self._lock = ForkSafeLock()
        self._scanner: Any | None = None

    @hookimpl
    def skillcue_assess_skill(self, skill: Skill) -> tuple[Diagnostic, ...] | None:
        """Findings of the offline analyzers in the skill's folder."""
        if not skill.path.is_file():
            return None
        with self._lock:  # the scanner keeps state while it looks at a skill
            result = self._opened().scan_skill(
                skill.path.parent, lenient=True, skill_file=skill.path.name
            )
        kept: list[Diagnostic] = []
        seen: Counter[str] = Counter()
        for finding in result.findings:
            level = _level(finding)
            seen[finding.rule_id] += 1
            if level >= self._report and seen[finding.rule_id] <= EACH_RULE:
                severity: Severity = "error" if level >= self._untrust else "warning"
                kept.append(_diagnostic(skill, finding, severity))
        return tuple(kept) or None

    def _opened(self) -> Any:
        if self._scanner is None:
            from skill_scanner import SkillScanner  # seconds, and only where a skill is looked at

            self._scanner = SkillScanner()
        return self._scanner


def _level(finding: Any) -> int:
    name = str(getattr(finding.severity, "value", finding.severity))
    return LEVELS.index(name) if name in LEVELS else 0


def _diagnostic(skill: Skill, finding: Any, severity: Severity) -> Diagnostic:
    inside: Mapping[str, Any] = vars(finding)
    file = str(inside.get("file_path") or skill.path.name)
    path = file if Path(file).is_absolute() else skill.path.parent / file
    line = inside.get("line_number")
    return Diagnostic(
        code=f"cisco-{finding.rule_id.lower().replace('_', '-')}",
        severity=severity,
        path=Path(path),
        line=line if isinstance(line, int) and line > 0 else None,
        message=f"{skill.id}: {' '.join(str(finding.title).split())}",
        remedy=" ".join(str(inside.get("remediation") or "Read what it found.").split()),
    )
