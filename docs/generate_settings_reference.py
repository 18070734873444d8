"""Writes docs/reference/settings.md from signatures, dataclass fields and their docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

from docstrings import constants, default_text, entries, table, write

import skillcue
import skillcue.commands.library
import skillcue.demo.models
import skillcue_adapters
import skillcue_hooks.manager
from skillcue import (
    FolderSource,
    GateSettings,
    JudgeSettings,
    PushSettings,
    SharedCache,
    SkillCue,
    StaticSource,
)
from skillcue.library import ReadLimits, RecheckSettings
from skillcue.remote import FetchLimits, MirrorOptions
from skillcue.successors import NextSettings
from skillcue.telemetry import EventSettings
from skillcue.traces import TraceSettings
from skillcue_adapters.bm25 import Bm25Settings
from skillcue_adapters.caching import DiskStore, MemoryStore
from skillcue_adapters.expand import ExpandSettings
from skillcue_adapters.hybrid import HybridSettings
from skillcue_adapters.indexed.bm25 import IndexedBm25Settings
from skillcue_adapters.indexed.skillsight import IndexedSkillSightSettings
from skillcue_adapters.language_models import CallLimits
from skillcue_adapters.refine.settings import RefineSettings
from skillcue_adapters.semantic_retriever import SemanticSettings
from skillcue_adapters.skillsight import SkillSightSettings
from skillcue_adapters.two_stage import TwoStageSettings
from skillcue_adapters.vector_stores.retriever import VectorStoreSettings

INTRO = """# Settings

Every parameter and every limit, with its unit and its default. An unknown parameter of `SkillCue`
is an `UnknownSettingError` that names the closest valid one. Settings of a mode are checked when
the mode is first used: pass `wait=True` to find a mistake in those of the default mode at once.
All of these are a [`ConfigurationError`](errors.md). Options of the framework classes are in the
[public names](api.md).
"""


class _Section(NamedTuple):
    """One dataclass or signature, and how its settings are given."""

    title: str
    how: str
    kind: type
    described_in: str


SECTIONS = [
    _Section(
        "SkillCue",
        "`SkillCue(sources, ...)`; all but `sources` by keyword. To give two folders different "
        "trust, pass [`FolderSource`](#foldersource) objects.",
        SkillCue,
        "Args",
    ),
    _Section(
        "Push",
        "`SkillCue(..., push=PushSettings(...))`. `count_tokens` may be any function from text to "
        "a number; whole numbers must be 1 or more, `context_tokens` 0 or more.",
        PushSettings,
        "Attributes",
    ),
    _Section(
        "Gate",
        "`SkillCue(..., push=PushSettings(gate=GateSettings(...)))`. What the numbers mean: "
        "[How push decides](../explanation/push.md#the-gate).",
        GateSettings,
        "Attributes",
    ),
    _Section(
        "Judge",
        "`SkillCue(..., push=PushSettings(judge=JudgeSettings(...)))`. When it is asked: "
        "[How push decides](../explanation/push.md#the-judge).",
        JudgeSettings,
        "Attributes",
    ),
    _Section(
        "Traces",
        '`SkillCue(..., traces=TraceSettings("traces.jsonl"))`, from `skillcue.traces`. What is '
        "recorded: [Traces](traces.md).",
        TraceSettings,
        "Attributes",
    ),
    _Section(
        "Events",
        '`SkillCue(..., events=EventSettings("events.db"))`, from `skillcue.telemetry`. What is '
        "stored: [Telemetry](telemetry.md#the-store-of-events).",
        EventSettings,
        "Attributes",
    ),
    _Section(
        "Next",
        "`SkillCue(..., next_skills=NextSettings(...))`, from `skillcue.successors`. What the numbers "
        "mean: [Suggest what comes next](../how-to/suggest-what-comes-next.md).",
        NextSettings,
        "Attributes",
    ),
    _Section(
        "Language model calls",
        "`open_language_model(model, limits=CallLimits(...))`, from "
        "`skillcue_adapters.language_models`; the result is what `SkillCue(..., llm=...)` takes. "
        "See [Use a language model](../how-to/use-a-language-model.md).",
        CallLimits,
        "Attributes",
    ),
    _Section(
        "Mode bm25",
        '`SkillCue(..., modes={"bm25": {"k1": 1.2}})`. Formula: '
        "[Retrieval](../explanation/retrieval.md).",
        Bm25Settings,
        "Attributes",
    ),
    _Section(
        "Mode bm25 over an index",
        '`SkillCue(..., modes={"bm25": {"postings": 20_000}})`, where the library is in an index; '
        "besides those of mode `bm25`. Also for the lexical side of `hybrid` and `skillsight`.",
        IndexedBm25Settings,
        "Attributes",
    ),
    _Section(
        "Modes with vectors",
        '`SkillCue(..., modes={"dense": {"batch_texts": 128}})`: settings of `dense`, and of '
        "`skillsight` besides its own. Both also take `encoder`, which goes before the one of "
        "the `SkillCue`.",
        SemanticSettings,
        "Attributes",
    ),
    _Section(
        "Mode dense over a vector store",
        '`SkillCue(..., vectors=leg, modes={"dense": {"depth": 200}})`: settings of `dense`, and so of '
        "`hybrid`, with [a vector store of yours](../how-to/use-your-vector-store.md).",
        VectorStoreSettings,
        "Attributes",
    ),
    _Section(
        "Mode skillsight",
        '`SkillCue(..., modes={"skillsight": {"fusion": "minmax"}})`. Formula: '
        "[Retrieval](../explanation/retrieval.md#mode-skillsight).",
        SkillSightSettings,
        "Attributes",
    ),
    _Section(
        "Mode skillsight over an index",
        '`SkillCue(..., modes={"skillsight": {"candidates": 400}})`, where the library is in an '
        "index; besides those of mode `skillsight`.",
        IndexedSkillSightSettings,
        "Attributes",
    ),
    _Section(
        "Mode hybrid",
        '`SkillCue(..., modes={"hybrid": {"depth": 50}})`. Its lists are those of modes `bm25` '
        "and `dense`, with their settings.",
        HybridSettings,
        "Attributes",
    ),
    _Section(
        "Mode two_stage",
        '`SkillCue(..., cross_encoder="onnx:/path", modes={"two_stage": {"budget_ms": 1000}})`. It '
        "also takes `first`, the mode of the first stage (default `skillsight`, and `hybrid` with `vectors=`), and "
        "`cross_encoder`, which goes before the one of the `SkillCue`.",
        TwoStageSettings,
        "Attributes",
    ),
    _Section(
        "Mode expand",
        '`SkillCue(..., llm=model, modes={"expand": {"retries": 1}})`. It also takes `base`, the '
        "mode that ranks (default `skillsight`, and `hybrid` with `vectors=`). How it works: "
        "[Retrieval](../explanation/retrieval.md#mode-expand).",
        ExpandSettings,
        "Attributes",
    ),
    _Section(
        "Mode refine",
        '`SkillCue(..., llm=..., modes={"refine": {"commands": 5}})`. It also takes `base`, the mode '
        "that answers where nothing is refined (default `skillsight`, and `hybrid` with `vectors=`). See "
        "[Refine skills for one task](../how-to/refine-a-task.md).",
        RefineSettings,
        "Attributes",
    ),
    _Section(
        "FolderSource",
        "`SkillCue([FolderSource(path, ...), ...])`. A text or `Path` among the sources is the "
        "same as a `FolderSource` with the `trust` and `strict` of the `SkillCue`.",
        FolderSource,
        "Args",
    ),
    _Section(
        "StaticSource",
        "`SkillCue(StaticSource(label, skills))`: skills that are in memory already.",
        StaticSource,
        "Args",
    ),
    _Section(
        "Reading",
        "`FolderSource(path, limits=ReadLimits(...))`, from `skillcue.library`. Reaching a limit "
        "is a [diagnostic](diagnostics.md); a limit below 1 is an error. They hold for files beside "
        "a SKILL.md as well.",
        ReadLimits,
        "Attributes",
    ),
    _Section(
        "Sources that are fetched",
        '`GitSource(url, trust="trusted", refresh=60)` and its like, from `skillcue.remote`. See '
        "[Skills from elsewhere](../how-to/skills-from-elsewhere.md).",
        MirrorOptions,
        "Attributes",
    ),
    _Section(
        "Fetching",
        "`GitSource(url, fetch_limits=FetchLimits(...))`, from `skillcue.remote`.",
        FetchLimits,
        "Attributes",
    ),
    _Section(
        "Re-checking files",
        "What `recheck` goes by. `SkillCue` uses these defaults; only `LiveLibrary` of "
        "`skillcue.library` takes others.",
        RecheckSettings,
        "Attributes",
    ),
    _Section(
        "Memory cache",
        "What `cache=None` builds. `SkillCue(..., cache=MemoryStore(...))`, from "
        "`skillcue_adapters.caching`, takes other values.",
        MemoryStore,
        "Args",
    ),
    _Section(
        "Disk cache",
        "What `cache=folder` puts behind a memory cache, in `folder/rankings`. "
        "`SkillCue(..., cache=TieredStore(MemoryStore(), DiskStore(path, ...)))` takes other "
        "values.",
        DiskStore,
        "Args",
    ),
    _Section(
        "Shared cache",
        "`SkillCue(..., cache=SharedCache(...))`. See "
        "[Several machines](../how-to/cache-and-production.md#several-machines).",
        SharedCache,
        "Attributes",
    ),
]

LIMITS: list[tuple[str, tuple[str, ...]]] = [
    ("Pull tools", ("skillcue.pull", "skillcue.loading")),
    ("Push", ("skillcue.push.",)),
    ("Command line", ("skillcue.commands.", "skillcue.demo.")),
    ("Library, retrieval and caching", ("skillcue.", "skillcue_adapters.")),
]
"""Heading, and beginnings of the names of the modules under it; the first that fits counts."""

NO_LIMITS = ("_", "APPLICATION_ID", "EXIT_", "SCHEMA_VERSION", "VERSION")
"""Beginnings of the names of constants that bound nothing."""

NO_MODULES = (
    "skillcue_adapters.encoders.builder",
    "skillcue_adapters.encoders.build_models",
    "skillcue.remote.mcp_session",
)
"""Need PyTorch or the extra mcp, and users set nothing there."""

VARIABLES = [
    (skillcue_hooks.manager, "LOAD_ENV"),
    (skillcue_hooks.manager, "BLOCK_ENV"),
    (skillcue.commands.library, "SKILLS_ENV"),
    (skillcue.demo.models, "MODEL_ENV"),
]


def main() -> None:
    parts = [INTRO]
    for title, how, kind, section in SECTIONS:
        rows = _rows(kind, section)
        parts.append(f"## {title}\n\n{how}\n\n{table(_head(kind), rows)}")
    parts.append("## Fixed limits\n\nNot settings, named in the code by these constants.\n")
    limits = _limits()
    for title, _ in LIMITS:
        parts.append(
            f"### Limits: {title}\n\n{table(('constant', 'value', 'meaning'), limits[title])}"
        )
    rows = [(f"`{value}`", text) for _, value, text in map(_constant, VARIABLES)]
    parts.append(f"## Environment variables\n\n{table(('variable', 'meaning'), rows)}")
    write("settings.md", "generate_settings_reference.py", "\n".join(parts))


def _head(kind: type) -> tuple[str, ...]:
    ranged = dataclasses.is_dataclass(kind) and any(f.metadata for f in dataclasses.fields(kind))
    return (
        ("setting", "default", "range", "meaning") if ranged else ("setting", "default", "meaning")
    )


def _rows(kind: type, section: str) -> list[tuple[str, ...]]:
    """One row a setting.

    Raises:
        ValueError: A setting is not described, or something is described that is no setting.
    """
    texts = entries(kind, section)
    inherited = {name for base in kind.__mro__[1:] for name in getattr(base, "__annotations__", {})}
    defaults = {name: d for name, d in _defaults(kind).items() if name not in inherited}
    if set(texts) != set(defaults):
        raise ValueError(f"{kind.__name__}: described {sorted(texts)}, has {sorted(defaults)}")
    rows = []
    for name, default in defaults.items():
        bounds = _bounds(kind, name)
        rows.append((f"`{name}`", default, *bounds, texts[name]))
    return rows


def _defaults(kind: type) -> Mapping[str, str]:
    """Name to default; a dash where there is none."""
    parameters = inspect.signature(kind).parameters.values()
    given = {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
    made = {
        field.name: field.default_factory()
        for field in (dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ())
        if field.default_factory is not dataclasses.MISSING
    }
    return {name: _default(made.get(name, parameter.default)) for name, parameter in given.items()}


def _default(value: Any) -> str:
    return "-" if value is inspect.Parameter.empty else f"`{default_text(value)}`"


def _bounds(kind: type, name: str) -> tuple[str, ...]:
    if len(_head(kind)) == 3:
        return ()
    (field,) = (field for field in dataclasses.fields(kind) if field.name == name)
    if "options" in field.metadata:
        return (", ".join(f"`{option}`" for option in field.metadata["options"]),)
    return (f"{field.metadata['low']:,} to {field.metadata['high']:,}",)


def _limits() -> Mapping[str, list[tuple[str, str, str]]]:
    """Heading to rows: every constant of the packages that is a documented number."""
    rows: dict[str, list[tuple[str, str, str]]] = {title: [] for title, _ in LIMITS}
    for module in _modules():
        title = next(t for t, starts in LIMITS if module.__name__.startswith(starts))
        for name, (value, text) in constants(module).items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and name.isupper() and not name.startswith(NO_LIMITS):
                place = module.__name__.removeprefix("skillcue.")
                rows[title].append((f"`{place}.{name}`", f"{value:,}", text))
    return rows


def _modules() -> list[ModuleType]:
    found = [
        importlib.import_module(info.name)
        for package in (skillcue, skillcue_adapters)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not info.name.endswith("__main__") and not info.name.startswith(NO_MODULES)
    ]
    return sorted(found, key=lambda module: module.__name__)


def _constant(place: tuple[ModuleType, str]) -> tuple[str, Any, str]:
    module, name = place
    value, text = constants(module)[name]
    return name, value, text


if __name__ == "__main__":
    main()
