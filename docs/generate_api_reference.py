"""Writes docs/reference/api.md: every public name with its signature and one line of meaning."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from docstrings import entries, first_line, signature, table, write

from skillcue import SkillCue
from skillcue.pull import PullTools
from skillcue.push.advisor import Advisor

INTRO = """# Public names

What may be imported, and from where. Names that are not here are internal and may change. Errors
are in [Errors](errors.md), hooks in [Hooks](hooks.md), what every parameter of `SkillCue` and of
the settings means in [Settings](settings.md).

`import skillcue` loads no framework and no numpy. `skillcue.langgraph`, `skillcue.langchain`,
`skillcue.llamaindex` and `skillcue.mcp` need their extra and raise `MissingExtraError` with the
install line otherwise.
"""

MODULES: list[tuple[str, str, tuple[str, ...]]] = [
    ("skillcue", "`SkillCue`, its settings and its sources.", ()),
    ("skillcue.langgraph", 'For any `StateGraph`. Needs `pip install "skillcue[langgraph]"`.', ()),
    (
        "skillcue.langchain",
        'For `create_agent` and deepagents. Needs `pip install "skillcue[langgraph]"`.',
        (),
    ),
    (
        "skillcue.llamaindex",
        'For LlamaIndex agents and workflows. Needs `pip install "skillcue[llamaindex]"`.',
        (),
    ),
    (
        "skillcue.mcp",
        '[Serve skills over MCP](../how-to/serve-over-mcp.md). Needs `pip install "skillcue[mcp]"`.',
        (),
    ),
    ("skillcue.pull", "The pull tools without a framework: what `cue.tools()` gives.", ()),
    (
        "skillcue.placement",
        "Puts advice into a request of dicts or LangChain messages, and takes it out again.",
        ("append_text", "place", "remove_advice"),
    ),
    ("skillcue.push.advisor", "What `cue.advisor(...)` gives.", ("Advisor", "Plan")),
    (
        "skillcue.traces",
        "Traces of decisions and loads, and the gate that `skillcue calibrate` makes of them.",
        (),
    ),
    (
        "skillcue.telemetry",
        'Log lines, OpenTelemetry (`pip install "skillcue[otel]"`) and the store of events.',
        (),
    ),
    (
        "skillcue.successors",
        "[What comes next](../how-to/suggest-what-comes-next.md), for `SkillCue(next_skills=...)`.",
        (),
    ),
    ("skillcue.nudges", "The two instructions of `nudge=True`.", ()),
    ("skillcue.library", "Limits of reading, for `FolderSource(limits=...)`.", ("ReadLimits",)),
    (
        "skillcue.remote",
        "Sources that are fetched: [Skills from elsewhere](../how-to/skills-from-elsewhere.md).",
        (),
    ),
    (
        "skillcue.indexed",
        "Skills in an index: [Share a library between processes](../how-to/share-a-library.md).",
        (),
    ),
    (
        "skillcue_adapters.bm25",
        'Mode `bm25`; `register("name", "skillcue_adapters.bm25:build")` offers it once more.',
        ("Bm25Settings", "build"),
    ),
    (
        "skillcue_adapters.skillsight",
        "Mode `skillsight`, the default.",
        ("SkillSightSettings", "build"),
    ),
    ("skillcue_adapters.dense", "Mode `dense`.", ("build",)),
    ("skillcue_adapters.hybrid", "Mode `hybrid`.", ("HybridSettings", "build")),
    ("skillcue_adapters.refine.retriever", "Mode `refine`.", ("build",)),
    (
        "skillcue_adapters.refine.store",
        "What `cue.refinement(task)` gives.",
        ("Refinement", "Step"),
    ),
    (
        "skillcue_adapters.language_models",
        "For `SkillCue(llm=...)`: [Use a language model](../how-to/use-a-language-model.md).",
        ("CallLimits", "MeteredLanguageModel", "open_language_model"),
    ),
    (
        "skillcue_adapters.encoders.objects",
        "Embedding objects of LangChain and LlamaIndex, for `SkillCue(encoder=...)`.",
        ("FrameworkEncoder",),
    ),
    (
        "skillcue_adapters.caching",
        "Caches, for `SkillCue(cache=...)`.",
        ("DiskStore", "MemoryStore", "SharedStore", "TieredStore"),
    ),
    (
        "skillcue_adapters.postgres",
        "A library on PostgreSQL with pgvector, shared by many processes.",
        ("PostgresIndex",),
    ),
    (
        "skillcue_adapters.indexed",
        "An index in this process, and what an index stores of a skill.",
        (),
    ),
    ("skillcue_hooks", "The contract that plugins build on: records, roles and markers.", ()),
    (
        "skillcue_hooks.dense_leg",
        "What `SkillCue(vectors=...)` takes: [Your vector store](../how-to/use-your-vector-store.md).",
        (),
    ),
    (
        "skillcue_hooks.skill_index",
        "The role of an index that several processes share: what it stores, is asked and gives.",
        (),
    ),
    ("skillcue_hooks.testing", "For tests of plugins; needs pytest.", ()),
]
"""Module, what it is for, and which of its names are public where not all of them are."""

IN_DETAIL = {
    "ArchiveSource",
    "DatabaseSource",
    "GitSource",
    "McpSource",
    "PostgresIndex",
    "SqliteSource",
    "PullTools",
    "append_text",
    "place",
    "remove_advice",
    "SkillAdvisor",
    "SkillMiddleware",
    "SkillRetriever",
    "SkillToolSpec",
    "skill_mode",
    "skill_server",
    "skill_tools",
    "with_skills",
}
"""Names whose parameters are listed here, because no other page has them."""

MEANINGS = {
    "__version__": "Version of the installed package.",
    "hookimpl": "Marks a function of a plugin as the implementation of a hook.",
    "hookspec": "Marks a hook specification; plugins do not need it.",
    "MODE_HEADER": "HTTP header that names the retrieval mode of all requests of a client.",
    "MODE_META": "Key in the `_meta` of one request that names its retrieval mode.",
    "RunContext": "A function of the SDK's request that gives what policy plugins see.",
    "TOOL_DESCRIPTIONS": "What the model reads about each tool: `lookup`, `load`, `list`.",
    "SkillCue": "A library of skills, ready to be asked (pull) and to advise (push).",
}
"""For names that have no docstring, or none that fits in a table."""


def main() -> None:
    parts = [INTRO, _contents()]
    detailed: list[Any] = []
    for module_name, text, chosen in MODULES:
        module = importlib.import_module(module_name)
        names = sorted(chosen or module.__all__)
        parts.append(f"## {module_name}\n\n{text}\n")
        rows = [(f"`{name}`", _meaning(module, name)) for name in names]
        parts.append(table(("name", "meaning"), rows))
        for name in names:
            thing = getattr(module, name)
            if name in IN_DETAIL and thing not in detailed:
                detailed.append(thing)
                parts.append(_detail(name, thing, module_name))
            if thing is SkillCue:
                parts.append("### SkillCue (skillcue)\n\n" + _methods(SkillCue))
            if thing in (Advisor, PullTools):
                parts.append(_methods(thing))
    write("api.md", "generate_api_reference.py", "\n".join(parts))


def _contents() -> str:
    links = (f"[{name}](#{name.replace('.', '')})" for name, _, _ in MODULES)
    return " ·\n".join(links) + "\n"


def _meaning(module: Any, name: str) -> str:
    return MEANINGS.get(name) or first_line(getattr(module, name))


def _detail(name: str, thing: Any, module_name: str) -> str:
    called = vars(thing)["__init__"] if isinstance(thing, type) else thing
    return (
        f"### {name} ({module_name})\n\n```text\n{signature(called, name)}\n```\n\n"
        f"{_parameters(thing)}"
    )


def _methods(kind: type) -> str:
    """Methods and properties in the order of the code."""
    parts = [
        _method(name, thing)
        for name, thing in vars(kind).items()
        if not name.startswith("_") and (inspect.isfunction(thing) or isinstance(thing, property))
    ]
    return "\n".join(parts)


def _method(name: str, thing: Any) -> str:
    if isinstance(thing, property):
        returned = inspect.signature(thing.fget).return_annotation if thing.fget else ""
        head = f"{name}: {returned}"
    else:
        head = signature(thing, name)
    return f"```text\n{head}\n```\n\n{first_line(thing)}\n\n{_parameters(thing)}".rstrip() + "\n"


def _parameters(thing: Any) -> str:
    rows = [(f"`{parameter}`", text) for parameter, text in entries(thing, "Args").items()]
    return table(("parameter", "meaning"), rows) if rows else ""


if __name__ == "__main__":
    main()
