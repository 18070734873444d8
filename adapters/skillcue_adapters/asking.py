"""Asking a language model for JSON: data that cannot end its own delimiters, answers that are read
strictly, and a bounded number of attempts.

Whatever goes wrong is a `Reply` without a value, never an exception: those who ask have another
way to go on.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from skillcue_hooks.errors import LanguageModelError
from skillcue_hooks.language import ChatMessage, Usage
from skillcue_hooks.protocols import LanguageModel

__all__ = [
    "InvalidAnswerError",
    "Question",
    "Reply",
    "ask",
    "data_block",
    "ends",
    "json_object",
    "no_questions",
]

T = TypeVar("T")

ECHO_CHARS = 1000
"""Of an answer that could not be read, so much is shown to the model again, characters."""

_silenced: ContextVar[bool] = ContextVar("skillcue_no_questions", default=False)

log = logging.getLogger("skillcue.language")


class InvalidAnswerError(ValueError):
    """A model answered something that cannot be used; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """What a model is asked, and how its answer is read.

    Attributes:
        system: What it is to do; fixed words.
        data: What it is to do it with; see `data_block`.
        read: Makes a value of the answer's text, or raises `InvalidAnswerError`.
        attempts: Calls at most, 1 or more. After an answer that cannot be read the model is told
            what is wrong with it.
        max_tokens: Longest answer, tokens.
        timeout_s: Longest time for all attempts together, seconds.
    """

    system: str
    data: str
    read: Callable[[str], T]
    attempts: int
    max_tokens: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What came of a `Question`.

    Attributes:
        value: What was read; None where there is none.
        failure: Why there is none, with the cure of a failing model, one line; empty where there is
            a value.
        usage: What all attempts took.
        asked: The model was asked; False within `no_questions`, which is nobody's failure.
    """

    value: T | None
    failure: str
    usage: Usage
    asked: bool = True


def ask(model: LanguageModel, question: Question[T]) -> Reply[T]:
    """Ask until an answer can be read, as often and as long as `question` allows.

    Within `no_questions` there is no answer at once.
    """
    if _silenced.get():
        return Reply(None, "nothing is asked about turns that are over", Usage(), asked=False)
    asked = [ChatMessage("system", question.system), ChatMessage("user", question.data)]
    more: list[ChatMessage] = []
    usage, failure = Usage(), ""
    end = time.monotonic() + question.timeout_s
    for _ in range(question.attempts):
        left = end - time.monotonic()
        if left <= 0:
            return Reply(None, f"no answer in {question.timeout_s:g} s; {failure}", usage)
        try:
            answer = model.complete([*asked, *more], max_tokens=question.max_tokens, timeout_s=left)
        except LanguageModelError as error:
            failure, more = str(error), []  # with its cure, which has nowhere else to go
            continue
        except Exception as error:  # a client library may raise anything; others go on without
            log.warning("the language model raised", exc_info=True)
            failure, more = f"the language model raised {type(error).__name__}", []
            continue
        usage += answer.usage
        try:
            return Reply(question.read(answer.text), "", usage)
        except InvalidAnswerError as error:
            failure = f"the answer is not valid: {error}"
            more = _correction(answer.text, error)
    return Reply(None, failure, usage)


@contextmanager
def no_questions() -> Iterator[None]:
    """Within this block `ask` asks nothing: for work that is done again, whose answers are known
    where they are remembered. It travels with the context, not to other threads.
    """
    token = _silenced.set(True)
    try:
        yield
    finally:
        _silenced.reset(token)


def data_block(**parts: Any) -> str:
    """`parts` as JSON, each between tags of its name, for a model to read as data.

    Angle brackets inside are written as JSON escapes, so that no text can close the tag it stands
    in. Equal parts give equal text.

    Args:
        parts: Plain JSON values.
    """
    blocks = []
    for name, value in parts.items():
        text = json.dumps(value, ensure_ascii=False, indent=1)
        text = text.replace("<", "\\u003c").replace(">", "\\u003e")
        blocks.append(f"<{name}>\n{_writable(text)}\n</{name}>")
    return "\n".join(blocks)


def ends(text: str, limit: int) -> str:
    """A long text by its beginning and end, where people say what they want.

    Args:
        text: Anything.
        limit: Longest text that stays whole, characters; a longer one is cut to as many and a line
            break.
    """
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}\n{text[-(limit // 4) :]}"


def json_object(text: str) -> Mapping[str, Any]:
    """The first JSON object in `text`, whatever stands around it.

    Models like to put fences and courtesies around what they were asked for.

    Raises:
        InvalidAnswerError: There is none.
    """
    start = text.find("{")
    if start < 0:
        raise InvalidAnswerError("it holds no JSON object")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        raise InvalidAnswerError("it is not well-formed JSON") from None
    found: Mapping[str, Any] = value
    return found


def _correction(answer: str, error: InvalidAnswerError) -> list[ChatMessage]:
    told = f"That cannot be used: {error}. Answer again with nothing but the JSON object."
    return [ChatMessage("assistant", answer[:ECHO_CHARS] or "{}"), ChatMessage("user", told)]


def _writable(text: str) -> str:
    """Without lone surrogates, which no service can be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
