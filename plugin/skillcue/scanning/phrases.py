"""Phrases that speak to the model behind the user's back.

Kinds and examples follow the public literature on indirect prompt injection (Greshake et al. 2023,
arXiv:2302.12173; OWASP LLM01:2025). Every pattern starts at a word that is looked for first, and
repeats nothing without a bound, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillcue.scanning.text import Found, ScannedText, words

__all__ = ["orders"]

_GAP = r"\W{1,6}(?:\w{1,20}\W{1,6}){0,%d}?"
_RULES = (
    r"(?:instructions?|prompts?|rules|directives?|guidelines|training"
    r"|programming|constraints|policies)\b"
)
_BEFORE = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial)\b"

_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|discard)\b"
    + _GAP % 3
    + _BEFORE
    + _GAP % 2
    + _RULES
    + r"|\b(?:ignore|disregard|forget)\b"
    + _GAP % 2
    + r"system prompts?\b"
)
_PROHIBITED = re.compile(
    r"\b(?:never|do not|don't|don\u2019t|must not|mustn't|mustn\u2019t|should not|shouldn't)"
    r"\s{1,3}(?:ever |blindly |simply )?(?:follow|obey|comply with|accept|act on|trust|heed)\b"
    r"(?P<object>(?:[^.!?;:,\n]|\n(?![\s>#*\d-])){0,120}?)"
    r"\b(?:says?|saying|such as|like|to|(?:tell|ask|order)(?:s|ing)?(?: you| the agent)? to)\s{1,3}$"
)
_TURNS = re.compile(
    r"\b(?:not|no|without|but|instead|rather|then|except|unless|until|always)\b|n't"
)
_SENTENCE = 200
"""Characters before an order that are looked at for what forbids to follow it."""
_NEW_SELF = re.compile(
    r"\b(?:you are now|from now on,? you are|act as if you (?:are|were))\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?"
    r"(?:dan|jailbroken|unrestricted|unfiltered|uncensored|developer mode|root|god mode)\b"
    r"|\bnew (?:system )?(?:instructions|prompt|directive)s? (?:from|by) (?:the )?"
    r"(?:system|administrator|developer|anthropic|openai|google|microsoft)\b"
)
_CONCEAL = re.compile(
    r"\b(?:do not|don't|never|must not|without)\b"
    + _GAP % 2
    + r"(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|notify(?:ing)?|alert(?:ing)?"
    r"|disclos(?:e|ing)|show(?:ing)?)\b"
    + _GAP
    % 5
    + r"(?:the )?(?:user|human|operator|owner|developer)s?\b"
    r"|\b(?:hide|conceal)\W(?:this|these|it)\b[^.\n]{0,40}\bfrom the (?:user|human|operator)"
)
_SAFETY = re.compile(
    r"\b(?:disable|bypass|turn off|switch off|circumvent|evade|skip|ignore)\b"
    + _GAP % 3
    + r"(?:safety|guardrails?|content filter(?:s|ing)?|content polic(?:y|ies)|moderation"
    r"|safeguards?|permission (?:check|prompt)s?|approval prompts?|sandbox(?:ing)?)\b"
)
_KINDS = (
    (
        "override",
        (
            words("ignore disregard forget override discard"),
            words(
                "instruction instructions prompt prompts rules directive directives guidelines "
                "training programming constraints policies"
            ),
        ),
        _OVERRIDE,
    ),
    (
        "override",
        (
            words(
                "dan jailbroken unrestricted unfiltered uncensored mode root administrator developer "
                "anthropic openai google microsoft system"
            ),
            words("now new were"),
        ),
        _NEW_SELF,
    ),
    (
        "conceal",
        (
            words("user users human humans operator operators owner owners developer developers"),
            words(
                "tell telling inform informing mention mentioning reveal revealing notify notifying "
                "alert alerting disclose disclosing show showing hide conceal"
            ),
            words("not don never without hide conceal"),
        ),
        _CONCEAL,
    ),
    (
        "safety",
        (
            words("disable bypass turn switch circumvent evade skip ignore"),
            words(
                "safety guardrail guardrails filter filters filtering policy policies moderation "
                "safeguard safeguards permission approval sandbox sandboxing"
            ),
        ),
        _SAFETY,
    ),
)
"""Kind, groups of words of which each must give one, and the pattern that is then tried."""
_CODES = {
    "override": ("scan-override", "scan-override-cited"),
    "conceal": ("scan-conceal", "scan-conceal"),
    "safety": ("scan-safety", "scan-safety"),
}


def orders(text: ScannedText) -> Iterator[Found]:
    """Orders to drop instructions, to keep something from the user, or to get around a safeguard."""
    for kind, groups, pattern in _KINDS:
        if not text.says(*groups):
            continue
        plain, cited = _CODES[kind]
        for match in pattern.finditer(text.low):
            spoken = plain == cited or not (text.is_cited(match) or _is_prohibited(match))
            yield text.found(plain if spoken else cited, match)


def _is_prohibited(match: re.Match[str]) -> bool:
    """Whether the sentence forbids to follow what says this: nothing else stands in between."""
    start = match.start()
    found = _PROHIBITED.search(match.string[max(0, start - _SENTENCE) : start])
    return found is not None and _TURNS.search(found["object"]) is None
