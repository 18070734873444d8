"""What the user says about suggestions of what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from skillcue_hooks.errors import ConfigurationError

__all__ = ["NextSettings", "next_settings"]


@dataclass(frozen=True, slots=True)
class NextSettings:
    """When what often followed is suggested after a load.

    Attributes:
        learn: Learn from stored events; False shows what skill files say, and nothing else.
        limit: Most suggestions that are learned, 1 to 5.
        min_support: So often must a skill have followed, and so often must the suggestion have been
            tried on later history and compared with search; 2 or more.
        confidence: How sure it must be that the suggestion is right more often than search, above
            0.5, below 1. At each fit, of the skills after which search is as good or better, about
            1 minus this share is suggested after wrongly.
        least_share: After this share of its loads the skill must follow, loads after which nothing
            was read included, 0 to 1.
        k: Search succeeds where the skill is among that many first results, 1 or more.
        gap_s: A load that comes later than that after the one before follows nothing, seconds.
        gap_turns: Nor one that comes more user turns later than that.
        control: Share of conversations in which nothing that was learned is shown, 0 to below 1, so
            that it can be measured on. At 0 what is suggested is measured again only when the
            history from before has gone.
        history: So many loads are learned from, the newest; 100 or more.

    Raises:
        ConfigurationError: A setting has the wrong type or is out of range.
    """

    learn: bool = True
    limit: int = 2
    min_support: int = 10
    confidence: float = 0.95
    least_share: float = 0.5
    k: int = 5
    gap_s: float = 1_800.0
    gap_turns: int = 5
    control: float = 0.1
    history: int = 50_000

    def __post_init__(self) -> None:
        if not isinstance(self.learn, bool):
            raise ConfigurationError(f"Next setting learn is {self.learn!r}.", "Use True or False.")
        _check("limit", self.limit, int, 1 <= _number(self.limit) <= 5, "from 1 to 5")
        _check("min_support", self.min_support, int, _number(self.min_support) >= 2, "from 2")
        _check(
            "confidence",
            self.confidence,
            float,
            0.5 < _number(self.confidence) < 1,
            "above 0.5 and below 1",
        )
        _check(
            "least_share",
            self.least_share,
            float,
            0 <= _number(self.least_share) <= 1,
            "from 0 to 1",
        )
        _check("k", self.k, int, _number(self.k) >= 1, "from 1")
        _check("gap_s", self.gap_s, float, _number(self.gap_s) > 0, "above 0")
        _check("gap_turns", self.gap_turns, int, _number(self.gap_turns) >= 0, "from 0")
        _check("control", self.control, float, 0 <= _number(self.control) < 1, "from 0 to below 1")
        _check("history", self.history, int, _number(self.history) >= 100, "from 100")


def next_settings(spec: bool | NextSettings) -> NextSettings | None:
    """What the argument ``next_skills`` of `SkillCue` means; None where nothing is suggested.

    Raises:
        ConfigurationError: It is neither a boolean nor settings.
    """
    if isinstance(spec, NextSettings):
        return spec
    if not isinstance(spec, bool):
        raise ConfigurationError(
            f"next_skills is a {type(spec).__name__}.", "Use True, or NextSettings(...)."
        )
    return NextSettings() if spec else None


def _number(value: object) -> float:
    """`value`, or what is in no range."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")  # type: ignore[arg-type]


def _check(name: str, value: object, kind: type, in_range: bool, allowed: str) -> None:
    if in_range and (kind is float or isinstance(value, int)):
        return
    what = "a whole number" if kind is int else "a number"
    raise ConfigurationError(f"Next setting {name} is {value!r}.", f"Use {what} {allowed}.")
