"""The four tags of a skill: its file type, its primary operation, and two further ones.

The Tool-REX v3 profile of SkillSeek (section 3.1 and appendix G): exactly four tags in that order.
Nothing the file does not say, in its own surface form; no library names, since near twins share
them and they outweigh what a skill is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from skillcue_adapters.analyzer import ANALYZER
from skillcue_adapters.augment.markdown import Section, sections
from skillcue_adapters.augment.vocabulary import (
    FORMATS,
    is_operation,
    library_names,
    operation_of,
)
from skillcue_hooks.contracts import Skill

__all__ = ["TAGS", "faults_of_tags", "profile_tags"]

TAGS = 4
"""Tags of a profile: file type, primary operation, two secondary operations."""

NAME_WEIGHT = 6
DESCRIPTION_WEIGHT = 3
TITLE_WEIGHT = 2
BODY_MOST = 3
"""What the words of a part count; those of the body count up to so many times together."""

_WORD = re.compile(r"[^\W\d_]+(?:[-+#.][^\W_]+)*|[A-Za-z]+\d+\b")
_FORMAT_OF = {word: tag for tag, words in FORMATS.items() for word in words}
_MOST_TAG_CHARS = 30
_SAYS_NOTHING = frozenset({"skill", "skills", "use", "used", "using", "when", "guide", "guidance"})


def profile_tags(skill: Skill) -> tuple[str, ...]:
    """Four tags by rule, or none for a file that says too little for four.

    A file that names no type of file has what it is about in that place, and one that names fewer
    than three operations has further words of its description in theirs.
    """
    weights, libraries = _weighed(skill)
    kind = _file_type(weights, libraries)
    operations = _operations(weights)
    spare = (w for w in _subjects(skill, libraries) if w not in (kind, *operations))
    first = kind or next(spare, "")
    tags = [first, *[tag for tag in operations if tag != first]]
    while len(tags) < TAGS and (word := next(spare, "")):
        if word not in tags:
            tags.append(word)
    return tuple(tags[:TAGS]) if len(tags) >= TAGS and all(tags[:TAGS]) else ()


def faults_of_tags(tags: Sequence[object], skill: Skill) -> list[str]:
    """What is wrong with tags that somebody else made; empty where nothing is."""
    if len(tags) != TAGS or not all(isinstance(tag, str) for tag in tags):
        return [f"give exactly {TAGS} tags, all texts"]
    said = set(ANALYZER.counts(f"{skill.name} {skill.description} {skill.body}"))
    libraries = _libraries(sections(skill.body))
    faults = []
    for tag in map(str, tags):
        terms = set(ANALYZER.counts(tag))
        if len(tag) > _MOST_TAG_CHARS or "\n" in tag or not 1 <= len(tag.split()) <= 2:
            faults.append(f"tag {tag[:40]!r} is not one or two words")
        elif not terms:
            faults.append(f"tag {tag!r} holds no word that tells skills apart")
        elif not terms <= said:
            faults.append(f"the file does not say {tag!r}")
        elif tag.lower() in libraries - _FORMAT_OF.keys() and not is_operation(tag):
            faults.append(f"tag {tag!r} is the name of a library")
    if len({str(tag).lower() for tag in tags}) < TAGS:
        faults.append("tags repeat")
    return faults


def _weighed(skill: Skill) -> tuple[dict[str, float], frozenset[str]]:
    """Words of the file, lower case, with what they count; those of code and libraries apart."""
    parts = sections(skill.body)
    weights: dict[str, float] = {}
    _add(weights, [skill.name.replace("-", " ").replace("_", " ")], NAME_WEIGHT)
    _add(weights, [skill.description], DESCRIPTION_WEIGHT)
    _add(weights, [part.title for part in parts], TITLE_WEIGHT)
    body = Counter(word for text in _body_texts(parts) for word in _words(text))
    for word, count in body.items():
        weights[word] = weights.get(word, 0.0) + min(count, BODY_MOST) / BODY_MOST
    return weights, _libraries(parts)


def _libraries(parts: Sequence[Section]) -> frozenset[str]:
    return library_names(fence.code for part in parts for fence in part.fences)


def _body_texts(parts: Iterable[Section]) -> Iterable[str]:
    for part in parts:
        yield from part.prose
        yield from (item.text for item in part.items)


def _add(weights: dict[str, float], texts: Iterable[str], weight: float) -> None:
    for word in (word for text in texts for word in _words(text)):
        weights[word] = weights.get(word, 0.0) + weight


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.replace("-", " ").replace("/", " "))]


def _file_type(weights: dict[str, float], libraries: frozenset[str]) -> str:
    """The word for the file type that counts most, as the file writes it."""
    scores: dict[str, float] = {}
    words: dict[str, str] = {}
    for word, weight in weights.items():
        tag = _FORMAT_OF.get(word)
        if tag is not None and (word not in libraries or word == tag):
            scores[tag] = max(scores.get(tag, 0.0), weight)
            if tag not in words or weights[words[tag]] < weight:
                words[tag] = word
    best = max(scores, key=lambda tag: scores[tag], default="")
    return words[best] if best and scores[best] >= 1.0 else ""


def _operations(weights: dict[str, float]) -> list[str]:
    """The three operations that count most, the first mentioned first among equals."""
    scores: dict[str, float] = {}
    for word, weight in weights.items():
        verb = operation_of(word)
        if verb is not None:
            scores[verb] = scores.get(verb, 0.0) + weight
    return sorted(scores, key=lambda verb: -scores[verb])[: TAGS - 1]


def _subjects(skill: Skill, libraries: frozenset[str]) -> Iterable[str]:
    """Content words of name and description, each once, in their order."""
    said = _words(f"{skill.name.replace('_', ' ')} {skill.description}")
    return (
        word
        for word in dict.fromkeys(said)
        if len(word) > 2 and word not in libraries | _SAYS_NOTHING and ANALYZER.counts(word)
    )
