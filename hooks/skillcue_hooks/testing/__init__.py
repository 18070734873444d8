"""What plugin authors test with: conformance suites to subclass, and small fakes.

Needs pytest, which is why nothing else in skillcue imports it.
"""

from __future__ import annotations

from skillcue_hooks.testing.conformance import RetrieverConformance
from skillcue_hooks.testing.dense_leg import DenseLegConformance
from skillcue_hooks.testing.fakes import (
    FakeEncoder,
    RaisingRetriever,
    ScriptedLanguageModel,
    make_library,
    make_skill,
)
from skillcue_hooks.testing.index_conformance import SkillIndexConformance
from skillcue_hooks.testing.indexed import make_indexed

__all__ = [
    "DenseLegConformance",
    "FakeEncoder",
    "RaisingRetriever",
    "RetrieverConformance",
    "ScriptedLanguageModel",
    "SkillIndexConformance",
    "make_indexed",
    "make_library",
    "make_skill",
]
