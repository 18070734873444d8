"""`MeteredLanguageModel`: any model, within limits, counted by the mode that asks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from dataclasses import replace

from skillcue_adapters.language_models.backend import Backend, Service
from skillcue_adapters.language_models.counting import usage_of
from skillcue_adapters.language_models.explanations import (
    RAISED_CURE,
    Asked,
    EarlyError,
    NoPlaceError,
    explained,
)
from skillcue_adapters.language_models.failures import may_pass
from skillcue_adapters.language_models.limits import CallLimits
from skillcue_adapters.language_models.prices import Price
from skillcue_adapters.language_models.slots import Slots
from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.threads import start_background
from skillcue_hooks.errors import LanguageModelError, SkillcueError
from skillcue_hooks.language import ChatMessage, Completion, ToolSpec, Usage

__all__ = ["Meter", "MeteredLanguageModel"]

EXIT_WAIT_S = 0.5
"""At exit requests under way are waited for, seconds. They wait for a socket, where a thread can be
ended at any moment, and one that was given up may go on for as long as its service is silent."""


NEARLY_ALL = 0.9
"""Share of the time after which a `TimeoutError` of a client is taken for the limit it was given."""


class Meter:
    """Running totals by mode; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._totals: dict[str, Usage] = {}

    def add(self, mode: str, usage: Usage) -> None:
        """Count what a call for `mode` took."""
        with self._lock:
            self._totals[mode] = self._totals.get(mode, Usage()) + usage

    def totals(self) -> dict[str, Usage]:
        """Mode to what its calls took together, by name."""
        with self._lock:
            return dict(sorted(self._totals.items()))


class MeteredLanguageModel:
    """A `LanguageModel` that keeps to limits and counts; safe to share between threads.

    Retries wait at random up to a bound that doubles ("full jitter", M. Brooker, Exponential
    Backoff and Jitter, AWS Architecture Blog, 2015).

    Args:
        backend: What answers.
        limits: Time, tries and calls at once.
        price: Of the model; None where it is not known.

    Attributes:
        name: Of the model.
        fingerprint: Everything that changes an answer.
        calls_tools: It can be given tools.
    """

    def __init__(
        self, backend: Backend, limits: CallLimits | None = None, price: Price | None = None
    ) -> None:
        self._backend = backend
        self._limits = limits or CallLimits()
        self._price = price
        self._meter = Meter()
        self._slots = Slots(self._limits.concurrency)
        self._mode = ""
        self.name = backend.name
        self.fingerprint = backend.fingerprint
        self.calls_tools = backend.calls_tools

    @property
    def price(self) -> Price | None:
        """Money for a million tokens sent, and for a million received; None where it is not known."""
        return self._price

    @property
    def usage(self) -> dict[str, Usage]:
        """What all calls took together, by the mode that asked; the empty text for none."""
        return self._meter.totals()

    def for_mode(self, mode: str) -> MeteredLanguageModel:
        """The same model, with the same limits and meter, whose calls are counted for `mode`."""
        other = MeteredLanguageModel(self._backend, self._limits, self._price)
        other._meter, other._slots, other._mode = self._meter, self._slots, mode
        return other

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        max_tokens: int,
        timeout_s: float,
    ) -> Completion:
        """The model's next message.

        Args:
            messages: The conversation, a system message first at most.
            tools: What it may call.
            max_tokens: Longest answer, tokens.
            timeout_s: Longest time for the answer, all tries together, seconds.

        Raises:
            LanguageModelError: There is no answer. It says what that means and what to do about
                it, and names the class of the failure and not its text, which may hold keys.
        """
        from tenacity import (  # a third of the time of `import skillcue`, so only where used
            Retrying,
            retry_if_exception,
            stop_after_attempt,
            stop_before_delay,
            wait_random_exponential,
        )

        limits = self._limits
        until = time.monotonic() + timeout_s
        retrying = Retrying(
            retry=retry_if_exception(may_pass),
            stop=stop_after_attempt(limits.tries) | stop_before_delay(timeout_s),
            wait=wait_random_exponential(limits.backoff_s, limits.longest_backoff_s),
            reraise=True,
        )
        try:
            return retrying(self._once, tuple(messages), tuple(tools), max_tokens, until)
        except LanguageModelError:
            raise
        except SkillcueError as error:
            cause, cure = error.message.rstrip("."), error.cure
        except Exception as error:  # noqa: BLE001  # models of any framework: anything
            service = getattr(self._backend, "service", Service())
            asked = Asked(self.name, service, bool(tools), max_tokens, timeout_s, limits)
            cause, cure = explained(error, asked)
        # Outside of the handler: a traceback would show the text of the cause.
        raise self._no_answer(cause, cure)

    def _no_answer(self, cause: str, cure: str) -> LanguageModelError:
        return LanguageModelError(f"The model {self.name} gave no answer: {cause}.", cure)

    def _once(
        self,
        messages: tuple[ChatMessage, ...],
        tools: tuple[ToolSpec, ...],
        max_tokens: int,
        until: float,
    ) -> Completion:
        """One request, in a thread that can be given up and knows nothing of the caller's run."""
        left = min(until - time.monotonic(), self._limits.timeout_s)
        place = self._slots.take(left) if left > 0 else None
        if place is None:
            raise NoPlaceError
        answer: Future[Completion] = Future()
        timeout_s = max(min(until - time.monotonic(), self._limits.timeout_s), 0.001)

        def work() -> None:
            try:
                found = self._backend.answer(messages, tools, max_tokens, timeout_s)
                usage = usage_of(messages, tools, found, self._price)
                found = replace(found, usage=usage)
                # Here and not by whoever waits: an answer that comes too late is paid as well.
                self._meter.add(self._mode, usage)
                answer.set_result(found)
            except Exception as error:  # noqa: BLE001  # carried over to who waits
                answer.set_exception(error)
            except BaseException as error:  # noqa: BLE001  # a model does not end the process
                cause = f"it raised {type(error).__name__}"
                answer.set_exception(self._no_answer(cause, RAISED_CURE))
            finally:
                place.release()

        start_background("skillcue-model", lambda: Context().run(work), EXIT_WAIT_S)
        begun = time.monotonic()
        try:
            return answer.result(timeout_s)
        except TimeoutError as error:
            if time.monotonic() - begun < timeout_s * NEARLY_ALL:
                raise EarlyError(error) from None
            raise
