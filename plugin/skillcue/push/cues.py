"""What the plain words of a turn say about whether it asks for work: cheap, without a model.

The patterns know English best, and the commonest words of German, French, Spanish, Chinese and
Japanese; other languages lean on the encoder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

__all__ = ["CUES", "acknowledges", "prose", "text_cues", "without_blocks"]

CUES = ("files", "imperative", "numbers", "question", "thanks", "words")
"""The names `text_cues` gives, sorted."""

MOST_WORDS = 30
"""More words than these say nothing more about what a turn wants."""

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_QUOTED = re.compile(r"(?m)^[ \t]*>.*$")
_THANKS = re.compile(
    r"\A\W*(?:(?:ah|oh|haha|wow|ok|okay|k|all right|alright|yep|yes|no|hey|hi|hello|morning|"
    r"good (?:morning|night|evening)|great|perfect|brilliant|lovely|cool|nice|good|fine|super|"
    r"cheers|thx|thanks|thank you|never ?mind|nvm|forget it|got it|sounds good|bye|lol|"
    r"danke|passt|gut|prima|merci|gracias|perfecto|parfait)\b|谢谢|好的|明白|ありがと|了解|どうも)",
    re.IGNORECASE,
)
_GRATITUDE = re.compile(
    r"\b(?:thanks|thank you|thx|tysm|ty|cheers|danke|merci|gracias)\b|谢谢|ありがと", re.IGNORECASE
)
_QUESTION = re.compile(
    r"\A\W*(?:and |but |so |wait,? |btw,? )?(?:who|whose|what|when|where|why|which|how|is|are|was|"
    r"were|do|does|did|has|have|had|will|would|should|isn't|aren't|doesn't|didn't|wer|was|wann|wo|"
    r"warum|wie|welche\w*|ist|sind|hat|qui|que|quoi|quand|où|pourquoi|quién|qué|cuándo|dónde|"
    r"por qué)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"\b(?:please|pls|can you|could you|i need|we need|i want|i'd like|help me|"
    r"(?:add|analy[sz]e|ask|book|build|calculate|check|clean|combine|compare|compute|convert|copy|"
    r"count|create|cut|deploy|design|draft|draw|drop|estimate|export|extract|fill|filter|find|fit|"
    r"fix|flag|format|generate|get|give|go through|group|import|install|list|look|make|map|mark|"
    r"match|measure|merge|model|move|optimi[sz]e|parse|pick|plan|plot|prepare|pull|put|rank|read|"
    r"redo|remove|rename|render|repeat|replace|review|rewrite|rotate|run|schedule|set up|show|"
    r"simulate|solve|sort|split|summari[sz]e|sum up|take|test|train|translate|turn|update|"
    r"validate|verify|work out|write))\b",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<![\w@])[\w.-]*\w\.(?:[a-z]\w{1,4})(?![\w@])|\b\w+_\w+\b|(?<!\w)[~.]?/\w[\w./-]+|"
    r"\b(?:attached|attachment|below|spreadsheet|csv|pdf|xlsx?|excel|json|log|logs)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_SENTENCE = re.compile(r"(?<=[.!?。!?])\s+|\n+")
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]")


def without_blocks(text: str) -> str:
    """`text` without fenced blocks and quoted lines."""
    return _QUOTED.sub("", _FENCE.sub("\n", text)).strip()


def prose(text: str, limit: int = 600) -> str:
    """The words a user wrote around what was pasted, bounded by its beginning and its end.

    Args:
        text: A user message.
        limit: Characters kept.
    """
    words = without_blocks(text) or text
    if len(words) <= limit:
        return words
    return f"{words[: limit // 2]}\n{words[-(limit // 2) :]}"


def acknowledges(text: str) -> bool:
    """It thanks, or says nothing but yes, fine and the like: it asks for nothing again."""
    if _GRATITUDE.search(text):
        return True
    while found := _THANKS.match(text):
        text = text[found.end() :]
    return not re.search(r"\w", text)


def text_cues(text: str) -> Mapping[str, float]:
    """Cues of a user message, each from 0 to 1.

    files
        1 where a file, a path or an identifier is named, or something attached.
    imperative
        1 where a verb of work or a wish stands in it.
    numbers
        Up to 1 for several numbers: tasks have particulars.
    question
        1 where its last sentence asks rather than orders.
    thanks
        1 where it opens with thanks, a greeting or an acknowledgement.
    words
        Its length, logarithmic, full at `MOST_WORDS` words.
    """
    words = prose(text)
    sentences = [part for part in _SENTENCE.split(words) if part.strip()]
    last = sentences[-1] if sentences else ""
    asks = bool(_QUESTION.match(last)) or last.rstrip().endswith(("?", "?"))
    count = len(words.split()) + len(_WIDE.findall(words)) / 1.7
    return {
        "files": float(bool(_FILE.search(words))),
        "imperative": float(bool(_IMPERATIVE.search(words))),
        "numbers": min(len(_NUMBER.findall(words)), 3) / 3.0,
        "question": float(asks),
        "thanks": float(bool(_THANKS.search(words))),
        "words": math.log1p(min(count, MOST_WORDS)) / math.log1p(MOST_WORDS),
    }
