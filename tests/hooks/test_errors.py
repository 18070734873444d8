"""Errors: the tree, the cure each one carries, and that they survive copying and pickling."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue_hooks import errors
from skillcue_hooks.errors import (
    AmbiguousNameError,
    AttachError,
    ConfigurationError,
    IndexUnavailableError,
    LanguageModelError,
    LibraryNotFoundError,
    MissingExtraError,
    PluginError,
    SkillcueError,
    SkillFileError,
    SkillLookupError,
    SkillNotFoundError,
    StrictLibraryError,
    UnknownModeError,
    UnknownSettingError,
    closest_names,
)

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [p for room in ("plugin", "adapters", "hooks") for p in (ROOT / room).rglob("*.py")]

CLASSES = {
    name: item
    for name, item in vars(errors).items()
    if isinstance(item, type) and item.__module__ == errors.__name__
}

EXAMPLES: list[SkillcueError] = [
    SkillcueError("It broke.", "Mend it."),
    ConfigurationError("There is no skill source.", "Pass a folder."),
    UnknownModeError("bm52", ["bm25", "dense"]),
    UnknownModeError("zzz", iter(())),
    UnknownSettingError("moed", ["mode", "trust"]),
    UnknownSettingError("zzz", ["mode", "trust"]),
    UnknownSettingError("zzz", []),
    LibraryNotFoundError("'skils' is no folder.", "Did you mean 'skills'?"),
    AttachError("It is compiled.", "Use SkillMiddleware."),
    PluginError("It is async.", "Make it a plain def."),
    StrictLibraryError("3 problems.", "Quote the description."),
    LanguageModelError("No answer within 60 s.", "Allow more."),
    IndexUnavailableError("No server answers at db.example.", "Start it."),
    MissingExtraError("llama-index-core", "llamaindex"),
    SkillLookupError("`name` is empty.", "Pass a name."),
    SkillNotFoundError("pdf-form", ["pdf-forms", "git"]),
    SkillNotFoundError("zzz", {"pdf-forms", "git"}),
    AmbiguousNameError("tables", ["refined:b", "refined:a"]),
    SkillFileError("No file 'x.md'.", "Files: a.md."),
]


def drawn_tree() -> dict[str, set[str]]:
    """Class to direct bases, as drawn at the top of the module."""
    tree: dict[str, set[str]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)(\w+Error)(?: \((\w+)\))?", line)
        if found is None:
            continue
        depth = len(found[1]) // 4
        path = [*path[:depth], found[2]]
        tree[found[2]] = {path[-2] if depth else "Exception", *([found[3]] if found[3] else [])}
    return tree


def test_the_tree_is_as_drawn() -> None:
    actual = {name: {base.__name__ for base in item.__bases__} for name, item in CLASSES.items()}
    assert drawn_tree() == actual


def test_every_class_has_an_example_here() -> None:
    assert {type(example).__name__ for example in EXAMPLES} == set(CLASSES)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_message_and_cure_are_printed(error: SkillcueError) -> None:
    assert error.message.endswith((".", "?"))
    assert error.cure.endswith((".", "?", '"'))
    assert str(error) == f"{error.message} {error.cure}"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (UnknownModeError, ValueError),
        (PluginError, ValueError),
        (MissingExtraError, ImportError),
        (SkillNotFoundError, LookupError),
        (AmbiguousNameError, LookupError),
        (SkillFileError, LookupError),
    ],
)
def test_they_can_be_caught_as_the_builtin_they_are(kind: type, builtin: type) -> None:
    assert issubclass(kind, builtin)
    assert issubclass(kind, SkillcueError)


def test_of_many_skills_with_one_name_ten_are_listed() -> None:
    error = AmbiguousNameError("tables", [f"refined:{n:02}" for n in range(12, 0, -1)])
    assert error.ids[0] == "refined:01"
    assert len(error.ids) == 12
    assert error.cure.endswith(": " + ", ".join(error.ids[:10]) + " and 2 more.")


def calls_without_cure(source: str) -> list[int]:
    """Lines that word an error whose message and cure are free, and give no cure.

    A message that is handed on and not worded there has its cure inside.
    """
    free = {name for name, item in CLASSES.items() if item.__init__ is SkillcueError.__init__}
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        worded = bool(node.args) and isinstance(node.args[0], ast.Constant | ast.JoinedStr)
        cure = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "cure")]
        empty = bool(cure) and isinstance(cure[0], ast.Constant) and not cure[0].value
        if name in free and worded and (not cure or empty):
            lines.append(node.lineno)
    return lines


def test_every_error_in_the_sources_is_raised_with_a_cure() -> None:
    found = {p.relative_to(ROOT): calls_without_cure(p.read_text("utf-8")) for p in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_search_for_errors_without_cure_finds_them() -> None:
    lines = [
        'raise PluginError("x")',
        'raise PluginError(f"{x}", "")',
        'raise errors.AttachError("x", cure="y")',
        'raise ValueError("x")',
        "raise SkillcueError(answer.text)",
    ]
    assert calls_without_cure("\n".join(lines)) == [1, 2]


# ---- copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_survive_pickling(error: SkillcueError, protocol: int) -> None:
    same(pickle.loads(pickle.dumps(error, protocol)), error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda e: type(e).__name__)
def test_errors_survive_copying(error: SkillcueError) -> None:
    same(copy.copy(error), error)
    same(copy.deepcopy(error), error)


def same(twin: SkillcueError, error: SkillcueError) -> None:
    assert twin is not error
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert twin.args == error.args
    assert vars(twin) == vars(error)
    if isinstance(error, ImportError):
        assert isinstance(twin, ImportError)
        assert twin.msg == error.msg


def test_notes_survive_pickling() -> None:
    error = PluginError("It is async.", "Make it a plain def.")
    error.add_note("while loading alpha")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while loading alpha"]


class ErrorOfAPlugin(SkillNotFoundError):
    """A subclass with a constructor of its own."""

    def __init__(self, shelf: int) -> None:
        self.shelf = shelf
        super().__init__(f"shelf {shelf}", ())


def test_errors_of_plugins_survive_too() -> None:
    twin = pickle.loads(pickle.dumps(ErrorOfAPlugin(7)))
    same(twin, ErrorOfAPlugin(7))
    assert twin.shelf == 7


def _fail() -> None:
    raise SkillNotFoundError("pdf-form", ["pdf-forms"])


def test_an_error_raised_in_a_worker_process_arrives_whole() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        arrived = pool.submit(_fail).exception(timeout=60)
    assert isinstance(arrived, SkillNotFoundError)
    assert (arrived.name, arrived.closest) == ("pdf-form", ("pdf-forms",))
    assert arrived.cure == "Closest names: pdf-forms."


# ---- texts ----------------------------------------------------------------------------------


def test_an_unknown_mode_names_the_closest_and_all() -> None:
    error = UnknownModeError("bm52", {"dense", "bm25"})
    assert str(error) == (
        "Unknown skill mode 'bm52'. Did you mean 'bm25'? Available modes: bm25, dense. "
        "A plugin adds one with the skillcue_register_retrievers hook."
    )
    assert error.known == ("bm25", "dense")
    assert "Available modes: none." in str(UnknownModeError("bm25", ()))


def test_an_unknown_setting_names_the_closest_or_all() -> None:
    assert UnknownSettingError("moed", ["trust", "mode"]).cure == "Did you mean 'mode'?"
    assert UnknownSettingError("zzz", {"trust", "mode"}).cure == "Settings: mode, trust."
    assert UnknownSettingError("zzz", ()).cure == "Settings: none."


def test_a_missing_extra_gives_the_install_line() -> None:
    error = MissingExtraError("langgraph", "langgraph")
    assert (error.package, error.extra) == ("langgraph", "langgraph")
    assert 'pip install "skillcue[langgraph]"' in str(error)


# ---- closest names --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "closest"),
    [
        ("pdf-form", ["git", "pdf-forms"], ("pdf-forms",)),
        ("PDF-FORMS", ["git", "pdf-forms"], ("pdf-forms",)),
        ("pdf-forms", ["PDF-Forms"], ("PDF-Forms",)),
        ("forms", ["fill-in-pdf-forms-quickly", "git"], ("fill-in-pdf-forms-quickly",)),
        ("ß", ["SS"], ("SS",)),
        ("技能", ["技能库", "git"], ("技能库",)),
        ("", ["git"], ()),
        ("", [""], ("",)),
        ("of", ["one-of-these-long-names"], ()),
        ("x", [], ()),
        ("same", ["Same", "SAME", "same"], ("SAME",)),
        ("aa", ["ab", "ac", "ad", "ae"], ("ae", "ad", "ac")),
    ],
)
def test_closest_names(name: str, known: list[str], closest: tuple[str, ...]) -> None:
    assert closest_names(name, known) == closest
    assert closest_names(name, iter(known[::-1])) == closest


@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 10])
def test_the_limit_holds(limit: int) -> None:
    found = closest_names("skill-0", [f"skill-{n}" for n in range(5)], limit)
    assert len(found) == min(max(limit, 0), 5)
    assert found[:1] == (("skill-0",) if limit > 0 else ())


@given(st.text(max_size=12), st.lists(st.text(max_size=12)), st.integers(0, 4))
def test_closest_names_are_known_names_each_once_in_one_order(
    name: str, known: list[str], limit: int
) -> None:
    found = closest_names(name, known, limit)
    assert len(found) <= limit
    assert set(found) <= set(known)
    assert len({n.casefold() for n in found}) == len(found)
    assert closest_names(name, reversed(known), limit) == found
    if limit and name in known:
        assert found[0].casefold() == name.casefold()
