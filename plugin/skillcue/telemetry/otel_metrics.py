"""The instruments of `skillcue.telemetry.OpenTelemetry`; attributes with few values only."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.metrics import Histogram, Meter

from skillcue.telemetry.facts import Facts
from skillcue_hooks.contracts import Advice, LoadedSkill, Ranking
from skillcue_hooks.language import Usage

__all__ = ["Instruments"]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of the duration histograms: a cached answer takes about a millisecond, a mode that asks
a language model takes seconds."""
TOKENS = (0, 50, 100, 200, 300, 400, 600, 800, 1_200, 2_000, 4_000, 8_000, 16_000)
"""Bounds of the histogram of advice."""


class Instruments:
    """Counters and histograms.

    Args:
        meter: Makes them.
    """

    def __init__(self, meter: Meter) -> None:
        self._decisions = meter.create_counter(
            "skillcue.advise.decisions", "{decision}", "Push decisions"
        )
        self._lookups = meter.create_counter("skillcue.lookup.count", "{lookup}", "Lookups")
        self._loads = meter.create_counter("skillcue.load.count", "{load}", "Loads")
        self._advise_s = _seconds(meter, "skillcue.advise.duration", "Time of push decisions")
        self._lookup_s = _seconds(meter, "skillcue.lookup.duration", "Time of lookups")
        self._load_s = _seconds(meter, "skillcue.load.duration", "Time of loads")
        self._tokens = meter.create_histogram(
            "skillcue.advise.tokens",
            "{token}",
            "Size of advice",
            explicit_bucket_boundaries_advisory=TOKENS,
        )
        self._calls = meter.create_counter(
            "skillcue.model.calls", "{call}", "Calls of language models"
        )
        self._used = meter.create_counter(
            "skillcue.model.tokens", "{token}", "Tokens of language models"
        )
        self._money = meter.create_counter(
            "skillcue.model.money", "{money}", "Money for language models, as priced by the user"
        )

    def advised(self, advice: Advice, facts: Facts) -> None:
        """Measure one decision."""
        mode: dict[str, str | bool] = {"skillcue.mode": advice.mode}
        about = mode | {"skillcue.decision": advice.decision, "skillcue.shadow": advice.shadow}
        if "error.type" in facts:
            about["error.type"] = str(facts["error.type"])
        self._decisions.add(1, about)
        self._advise_s.record(advice.elapsed_s, about)
        if advice.tokens:
            self._tokens.record(advice.tokens, mode | {"skillcue.shadow": advice.shadow})
        self._spent(advice.cost, mode)

    def looked_up(self, ranking: Ranking, facts: Facts) -> None:
        """Measure one lookup."""
        mode: dict[str, str | bool] = {"skillcue.mode": ranking.mode}
        about = mode | {"skillcue.miss": str(facts.get("skillcue.miss", "no"))}
        self._lookups.add(1, about)
        self._lookup_s.record(ranking.elapsed_s, mode | {"skillcue.cached": ranking.cached})
        self._spent(ranking.cost, mode)

    def loaded(self, loaded: LoadedSkill) -> None:
        """Measure one load."""
        about = {"skillcue.trust": loaded.trust}
        self._loads.add(1, about)
        self._load_s.record(loaded.elapsed_s, about)

    def _spent(self, cost: Usage, mode: Mapping[str, str | bool]) -> None:
        if not cost.calls:
            return
        self._calls.add(cost.calls, mode)
        self._used.add(cost.input_tokens, {**mode, "gen_ai.token.type": "input"})
        self._used.add(cost.output_tokens, {**mode, "gen_ai.token.type": "output"})
        if cost.money:
            self._money.add(cost.money, mode)


def _seconds(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(
        name, "s", description, explicit_bucket_boundaries_advisory=SECONDS
    )
