"""Settings of mode ``refine``: every bound on what a refinement may take or make."""

from __future__ import annotations

from dataclasses import dataclass

from skillcue_adapters.settings import number

__all__ = ["RefineSettings"]


@dataclass(frozen=True, slots=True)
class RefineSettings:
    """Settings of mode ``refine``.

    Besides these: ``base``, the mode that answers where nothing is refined (default
    ``skillsight``; its settings are its own).

    The bounds in seconds, tokens and money are looked at before each request to the model; what
    an answer that is paid for holds is used. Before one of them is reached, the model is asked to
    hand in what it has: a part of each is kept for that answer.

    Attributes:
        commands: Searches and pages read in one refinement.
        seconds: Time for one refinement, seconds; also the longest time for one answer.
        tokens: Tokens sent and received in one refinement.
        money: What one refinement may cost, in the currency of the price table; has no effect
            where the model has no price.
        answer_tokens: Longest single answer of the model, tokens.
        skills: Skills that are composed at most.
        results: Skills that one search shows.
        page_chars: Characters of a body that one command reads.
        body_chars: Longest body of a refined skill, characters.
        retry_s: After a failure the same task is tried again so much later, seconds.
    """

    commands: int = number(10, 1, 100)
    seconds: float = number(60.0, 0.01, 3600.0)
    tokens: int = number(30_000, 100, 10_000_000)
    money: float = number(1.0, 0.0, 1_000_000.0)
    answer_tokens: int = number(4_000, 50, 100_000)
    skills: int = number(3, 1, 3)
    results: int = number(8, 1, 50)
    page_chars: int = number(8_000, 200, 100_000)
    body_chars: int = number(12_000, 200, 100_000)
    retry_s: float = number(600.0, 0.0, 1_000_000.0)
