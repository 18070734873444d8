"""Skills the user names: "use the pdf-forms skill" wins over every score.

An ordinary word must not switch a skill on. A name counts as spoken when it is written as an
identifier (``pdf-forms``, ``/pdf``, ``$pdf``, ``@pdf``), quoted, or stands next to the word
"skill", there also as separate words; the words of ``pdf-forms`` in running text do not count.
Parts of paths, URLs, calls and longer identifiers, and what stands in fenced code, are no names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from skillcue_hooks import Skill

__all__ = ["NamedSkills", "named_skills"]

MAX_CHARS = 8_000
"""Only this many characters at either end of a message are searched for names."""
PHRASE_CHARS = 100
"""Characters in front of the word "skill" that are searched for a name of several words."""
NEGATION_CHARS = 64
"""Characters in front of a name that are searched for a negation."""

# Every repetition below is possessive or bounded, so that no text makes a search quadratic.
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LEFT = r"(?<![\w/.$@\\=&?#%~+<-])"
_RIGHT = r"(?![/\\=(&#]|:\w)"
_IDENTIFIER = re.compile(rf"{_LEFT}([/$@]?+)(\w[\w.%-]*+){_RIGHT}(@[^\s,;:!?)\]\"'`<>]++)?+")
_QUOTES = r"\"'`\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u300c\u300d\u300e\u300f"
_QUOTED = re.compile(rf"(?<!\w)[{_QUOTES}]([^{_QUOTES}\n]{{1,200}}+)[{_QUOTES}](?!\w)")
_CJK = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
_ASCII_NAME = r"([A-Za-z0-9]++(?:[._-][A-Za-z0-9]++)++)"
_BESIDE_CJK = re.compile(
    rf"(?<={_CJK}){_ASCII_NAME}(?![A-Za-z0-9_/\\=(@])|{_LEFT}{_ASCII_NAME}(?={_CJK})"
)
_CJK_SKILL = re.compile(
    r"(?<![A-Za-z0-9_./-])([A-Za-z0-9][A-Za-z0-9_.-]{0,80}+)\s{0,3}+(?:技能|スキル|스킬)"
)
_SKILL = re.compile(
    r"(?<!\w)(?:skill(s)?+|fähigkeit|compétence|habilidad)(?!\w)"
    r"(\s{0,3}+(?::|named|called|namens|nommée?+|llamada))?+",
    re.IGNORECASE,
)
_WORD = re.compile(rf"[^\s,;:!?()\[\]{{}}<>{_QUOTES}]{{1,80}}+")
_PHRASE = rf"{_WORD.pattern}(?:\s{{1,3}}+{_WORD.pattern}){{0,3}}"
_BEFORE = re.compile(rf"(?<!\S){_PHRASE}\s{{1,3}}\Z")
_BEHIND = re.compile(rf"\s{{0,3}}+{_PHRASE}")
_ORDINARY = re.compile(
    r"an?|the|this|that|these|those|my|your|our|their|its|his|her|any|some|each|every|which|what"
    r"|no|yes|on|off|in|out|up|to|of|for|from|with|by|at|as|is|are|was|be|it|and|or|not|if|so|do"
    r"|does|can|will|may|i|we|you|he|she|they|all|one|new|other|same|right|use|using|has|have"
    r"|der|die|das|den|dem|eine?n?|mein|dein|und|oder|mit|von|zu|im|am|ist|für|nicht|auf"
    r"|les?|la|une?|des?|du|et|ou|avec|pour|mon|ton|est|el|los|las|una|y|o|con|para|mi",
    re.IGNORECASE,
)
"""Words that name no skill by standing next to the word "skill"."""

_USE = (
    r"\b(?:us(?:e[ds]?|ing)|load(?:ing)?|apply(?:ing)?|run(?:ning)?|call(?:ing)?|open|touch|want"
    r"|need|take|pick|choose|read|follow|invoke|include|recommend|suggest|offer|mention|try"
    r"|be?nutz\w*|verwend\w*|nimm|nehm\w*|lad\w*|brauch\w*|utilis\w*|prend\w*|charge\w*"
    r"|us[ao]\w*|utiliz\w*|carg\w*|quiero)\b|用"
)
_NEGATION = re.compile(
    r"(?P<verb>\b(?:don['\u2019]?t|(?:do|does|did|should|must|would)(?:n['\u2019]t|\s+not)|not|never|nicht"
    r"|pas|nunca|no)\b|不要|别|勿|禁止|不(?=使?用))"
    r"|\b(?:without|avoid|skip|instead\s+of|rather\s+than|except|ohne|statt|anstatt|kein\w*"
    r"|sans|sin)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\s*+[,(\u2013\u2014-]\s*+(?:please|ever|again|under|in|on|at|for|by|bitte|unter|auf|sous|en|bajo)\b"
    r"[^,()\u2013\u2014.!?;:\n]{0,40}+[,)\u2013\u2014-]",
    re.IGNORECASE,
)
"""Words between commas right behind a verb's negation: they do not end it."""
_SENTENCE_END = re.compile(r"[!?;\n\u3002\uff01\uff1f]|\.(?!\w)")
_TAKEN_BACK = re.compile(
    rf"[,:\u2013\u2014]\s*(?:\w+\s+){{0,2}}(?:{_USE})|\b(?:but|instead|sondern|aber|mais|sino|pero|forget"
    r"|hesitate|fail|vergiss|oublie|olvides|only|just|nur|until|unless|know|sure|understand|mind"
    r"|if|because|since)\b",
    re.IGNORECASE,
)
_LITTLE_WORDS = re.compile(
    r"\s*(?:\b(?:using|use|of|the|a|an|any|this|that|den|die|das|dem|le|la|el|by|to|skills?"
    r"|fähigkeit|compétence|habilidad)\b\s*)*",
    re.IGNORECASE,
)
_USES = re.compile(_USE, re.IGNORECASE)
_WHY = re.compile(r"\bwhy\s+\Z", re.IGNORECASE)
_NEGATED_BEHIND = re.compile(
    rf"[{_QUOTES}]?+\s*+(?:skill|スキル|技能|스킬)?+\s*+(?:は|を|은|는|을|를)?+\s*+"
    r"(?:(?:bitte\s++)?+nicht\b|使わ|使用し?+ない|使用せ|쓰지|사용하지)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedSkills:
    """What the user said about skills by name.

    Attributes:
        wanted: In the order they were named.
        unwanted: Named with a negation ("don't use the pdf skill").
    """

    wanted: tuple[Skill, ...] = ()
    unwanted: tuple[Skill, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class _Mention:
    """A stretch of the text that may be a name."""

    start: int
    end: int
    name: str


def named_skills(
    text: str,
    find: Callable[[str], Skill | None],
    expect: Callable[[Collection[str]], None] = lambda _names: None,
) -> NamedSkills:
    """Skills named in `text`.

    Args:
        text: The user's words.
        find: Exact look-up of a name or id; None when there is no such skill. Asked once for
            each name that may have been spoken.
        expect: Told all those names before.
    """
    text = _FENCED.sub("\n", text)
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    known = functools.cache(find)
    wanted: dict[str, Skill] = {}
    unwanted: dict[str, Skill] = {}
    mentions = sorted(_mentions(text))
    expect([mention.name for readings in mentions for mention in readings])
    for readings in mentions:
        for mention in readings:
            skill = known(mention.name)
            if skill is not None:
                refused = _refused(text, mention)
                (unwanted if refused else wanted).setdefault(skill.id, skill)
                break
    return NamedSkills(
        tuple(s for key, s in wanted.items() if key not in unwanted), tuple(unwanted.values())
    )


def _mentions(text: str) -> Iterator[tuple[_Mention, ...]]:
    """The places where a name may be spoken; each with its readings, the likeliest one first."""
    for match in _IDENTIFIER.finditer(text):
        sigil, name, where = match.groups()
        if sigil or where or re.search(r"\w[-_]\w", name):
            yield _identifier(match.start(), match.end(), f"{name}{where or ''}")
    for match in _BESIDE_CJK.finditer(text):
        yield _identifier(*match.span(), match[0])
    for match in _CJK_SKILL.finditer(text):
        yield _identifier(*match.span(1), match[1])
    for match in _QUOTED.finditer(text):
        if not _is_data(text, match):
            yield (_Mention(*match.span(), match[1].strip()),)
    for match in _SKILL.finditer(text):
        yield from _beside_skill(text, match)


def _identifier(start: int, end: int, name: str) -> tuple[_Mention, ...]:
    """`name` as it stands, and without the full stop of the sentence."""
    bare = name.rstrip(".-")
    whole = _Mention(start, end, name)
    if bare == name:
        return (whole,)
    return whole, _Mention(start, end - len(name) + len(bare), bare)


def _beside_skill(text: str, match: re.Match[str]) -> Iterator[tuple[_Mention, ...]]:
    """Up to four words in front of the word "skill" and behind it, the longest run first.

    A single word in front of the plural does not count ("my cooking skills are poor").
    """
    plural, introduced = match.groups()
    start = match.start()
    before = _BEFORE.search(text, max(0, start - PHRASE_CHARS), start)
    if before:
        spans = [word.span() for word in _WORD.finditer(text, before.start(), start)]
        runs = [(first, spans[-1][1]) for first, _ in spans]
        yield _phrases(text, runs[:-1] if plural else runs)
    if not introduced and (plural or not text[match.end() : match.end() + 1].isspace()):
        return
    behind = _BEHIND.match(text, match.end())
    if behind:
        spans = [word.span() for word in _WORD.finditer(text, *behind.span())]
        yield _phrases(text, [(spans[0][0], last) for _, last in reversed(spans)])


def _phrases(text: str, runs: Sequence[tuple[int, int]]) -> tuple[_Mention, ...]:
    mentions = []
    for start, end in runs:
        name = text[start:end].rstrip(".-")
        if not _ORDINARY.fullmatch(name):
            mentions.append(_Mention(start, start + len(name), " ".join(name.split())))
    return tuple(mentions)


def _is_data(text: str, match: re.Match[str]) -> bool:
    """The quotes belong to a key or a value of JSON, code or a call, not to a sentence."""
    before = text[max(0, match.start() - 4) : match.start()].rstrip()[-1:]
    behind = text[match.end() : match.end() + 4].lstrip()[:1]
    return before in tuple(":=[{(") or behind in tuple(":=]})")


def _refused(text: str, mention: _Mention) -> bool:
    """The name stands under a negation."""
    if _NEGATED_BEHIND.match(text, mention.end):
        return True
    since = max(0, mention.start - NEGATION_CHARS)
    for match in _NEGATION.finditer(text, since, mention.start):
        between = text[match.end() : mention.start]
        if match["verb"] and match["verb"].lower() != "no":  # "no, in that case, use it"
            between = _ASIDE.sub(" ", between, count=1) if _ASIDE.match(between) else between
        if _SENTENCE_END.search(between) or _TAKEN_BACK.search(between):
            continue
        if _WHY.search(text, since, match.start()):  # "why not use it" asks for it
            continue
        if _LITTLE_WORDS.fullmatch(between) or (match["verb"] and _USES.search(between)):
            return True
    return False
