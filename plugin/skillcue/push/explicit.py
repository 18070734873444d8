"""Skills the user names: "use the pdf-forms skill" wins over every score.

An ordinary word must not switch a skill on. A name counts as spoken when it is written as an
identifier (``pdf-forms``, ``/pdf``, ``$pdf``, ``@pdf``), quoted, or stands next to the word
"skill"; the words of ``pdf-forms`` in running text do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from skillcue_hooks import Skill

__all__ = ["NamedSkills", "named_skills"]

MAX_CHARS = 8_000
"""Only this many characters at either end of a message are searched for names."""

_IDENTIFIER = re.compile(r"(?<![\w/.$@-])([/$@]?)([\w][\w.-]*(?:@[^\s,;:!?)\"'`]+)?)")
_QUOTED = re.compile(r"[\"'`“„«]([^\"'`“”„«»\n]{2,80})[\"'`”“»]")
_SKILL_WORD = r"(?:skills?|fähigkeit|compétence|habilidad)"
_BEFORE = re.compile(rf"([\w][\w.-]*)\s+{_SKILL_WORD}\b", re.IGNORECASE)
_AFTER = re.compile(
    rf"\b{_SKILL_WORD}\s*(?::|named|called|namens|nommée?|llamada)?\s*([\w][\w.-]*)", re.IGNORECASE
)
_CJK = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*)\s*(?:技能|スキル|스킬)")
_NEGATION = re.compile(
    r"(?:\b(?:don'?t|do not|not|never|without|avoid|skip|instead of|rather than|nicht|ohne|kein\w*"
    r"|sans|sin)\b|不要|别用|不用)[^.!?\n]{0,24}\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedSkills:
    """What the user said about skills by name.

    Attributes:
        wanted: In the order they were named.
        unwanted: Named behind a negation ("don't use the pdf skill").
    """

    wanted: tuple[Skill, ...] = ()
    unwanted: tuple[Skill, ...] = ()


def named_skills(text: str, find: Callable[[str], Skill | None]) -> NamedSkills:
    """Skills named in `text`.

    Args:
        text: The user's words.
        find: Exact look-up of a name or id; None when there is no such skill.
    """
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    wanted: dict[str, Skill] = {}
    unwanted: dict[str, Skill] = {}
    for start, name in sorted(_spoken_names(text)):
        skill = find(name) or find(name.rstrip(".-"))
        if skill is not None:
            refused = _NEGATION.search(text[max(0, start - 48) : start])
            (unwanted if refused else wanted).setdefault(skill.id, skill)
    return NamedSkills(
        tuple(s for key, s in wanted.items() if key not in unwanted), tuple(unwanted.values())
    )


def _spoken_names(text: str) -> set[tuple[int, str]]:
    found = {(m.start(1), m.group(1)) for p in (_BEFORE, _AFTER, _CJK) for m in p.finditer(text)}
    found |= {(m.start(), m.group(1).strip()) for m in _QUOTED.finditer(text)}
    for match in _IDENTIFIER.finditer(text):
        sigil, name = match.groups()
        if sigil or re.search(r"\w[-_@]\w", name):
            found.add((match.start(), name))
    return found
