"""Spans and metrics of OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillcue import __version__
from skillcue.extras import require
from skillcue.telemetry.facts import Facts, advice_facts, load_facts, lookup_facts
from skillcue_hooks import Advice, LoadedSkill, Query, Ranking, hookimpl
from skillcue_hooks.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["OpenTelemetry"]

SCOPE = "skillcue"
"""Name of the instrumentation scope."""


class OpenTelemetry:
    """A span and measurements for each decision, lookup and load.

    Spans are children of the span that is current where the agent asks, with the time that the
    work began and took. Nothing happens where the application sets up no SDK. Names of spans,
    metrics and attributes: docs/reference/telemetry.md.

    Args:
        text: Add the words of the user, of queries and of reasons to spans. Off: no message text.
        tracer_provider: Whose spans; None takes the global one, also if it is set later.
        meter_provider: Whose metrics; likewise.

    Raises:
        MissingExtraError: ``opentelemetry-api`` is not installed.
        ConfigurationError: `text` has the wrong type.
    """

    def __init__(
        self,
        *,
        text: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        if not isinstance(text, bool):
            raise ConfigurationError(f"text is {text!r}.", "Use True or False.")
        require("opentelemetry.trace", "opentelemetry-api", "otel")
        from opentelemetry import metrics, trace  # an extra: only where it is used

        from skillcue.telemetry.otel_metrics import Instruments

        self._text = text
        self._trace = trace
        self._tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self._instruments = Instruments(metrics.get_meter(SCOPE, __version__, meter_provider))

    @hookimpl
    def skillcue_advised(self, advice: Advice, context: Mapping[str, Any]) -> None:
        """Tell one decision."""
        facts = advice_facts(advice, context, text=self._text)
        self._span("skillcue.advise", advice.elapsed_s, facts)
        self._instruments.advised(advice, facts)

    @hookimpl
    def skillcue_looked_up(
        self, query: Query, ranking: Ranking, context: Mapping[str, Any]
    ) -> None:
        """Tell one lookup."""
        facts = lookup_facts(query, ranking, context, text=self._text)
        self._span("skillcue.lookup", ranking.elapsed_s, facts)
        self._instruments.looked_up(ranking, facts)

    @hookimpl
    def skillcue_loaded(self, loaded: LoadedSkill, context: Mapping[str, Any]) -> None:
        """Tell one load."""
        facts = load_facts(loaded, context)
        self._span("skillcue.load", loaded.elapsed_s, facts)
        self._instruments.loaded(loaded)

    def _span(self, name: str, elapsed_s: float, facts: Facts) -> None:
        """A span that ends now: observers are called as soon as the work is done."""
        end = time.time_ns()
        span = self._tracer.start_span(
            name, attributes=facts, start_time=end - round(elapsed_s * 1e9)
        )
        if "error.type" in facts:
            span.set_status(self._trace.StatusCode.ERROR, str(facts["error.type"]))
        span.end(end)
