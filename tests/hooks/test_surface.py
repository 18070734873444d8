"""The surface of the packages: what is public, typed, documented, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {"plugin": "skillcue", "adapters": "skillcue_adapters", "hooks": "skillcue_hooks"}
HOOKS = ROOT / "hooks" / "skillcue_hooks"
MODULES = sorted(HOOKS.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    dotted = path.relative_to(HOOKS.parent).with_suffix("").as_posix().replace("/", ".")
    return dotted.removesuffix(".__init__")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def is_public(name: str) -> bool:
    return not name.startswith("_")


def defined(tree: ast.Module) -> set[str]:
    """Public names that a module binds itself, its logger aside; imports are not its own."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if is_public(name)} - {"log"}


def imported(tree: ast.Module) -> set[str]:
    """Names of the modules that are imported anywhere in a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, str]]:
    """Public functions and methods with their qualified name and the text of their class.

    Constructors are part of the surface; tests of the conformance suite are named by what they
    say and need no second sentence.
    """
    for node in tree.body:
        if isinstance(node, Function) and is_public(node.name):
            yield node.name, node, ""
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            for item in node.body:
                if not isinstance(item, Function) or item.name.startswith("test_"):
                    continue
                if is_public(item.name) or item.name in ("__init__", "__call__"):
                    yield f"{node.name}.{item.name}", item, ast.get_docstring(node) or ""


@pytest.mark.parametrize("path", MODULES, ids=name_of)
class TestModule:
    def test_all_is_sorted_complete_and_true(self, path: Path) -> None:
        module = importlib.import_module(name_of(path))
        names = list(module.__all__)
        assert names == sorted(names)
        assert len(names) == len(set(names))
        assert all(hasattr(module, name) for name in names)
        own = defined(tree_of(path))
        # A constant beside the code that obeys it may stay out of `from ... import *`.
        assert {name for name in own if not name.isupper()} <= set(names)
        if path.name != "__init__.py":
            assert set(names) <= own

    def test_it_has_a_docstring(self, path: Path) -> None:
        assert ast.get_docstring(tree_of(path))

    def test_public_classes_are_documented(self, path: Path) -> None:
        classes = [n for n in tree_of(path).body if isinstance(n, ast.ClassDef)]
        assert [c.name for c in classes if is_public(c.name) and not ast.get_docstring(c)] == []

    def test_public_functions_are_typed(self, path: Path) -> None:
        untyped = []
        for name, function, _ in public_functions(tree_of(path)):
            arguments = function.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [a for a in (arguments.vararg, arguments.kwarg) if a]
            missing = [a.arg for a in every if not a.annotation and a.arg not in ("self", "cls")]
            if missing or function.returns is None:
                untyped.append(name)
        assert untyped == []

    def test_public_functions_are_documented(self, path: Path) -> None:
        missing = []
        for name, function, class_text in public_functions(tree_of(path)):
            attribute = f"{function.name}:" in class_text  # listed under "Attributes:"
            constructor = function.name == "__init__"  # arguments stand in the class's text
            if not (ast.get_docstring(function) or attribute or constructor):
                missing.append(name)
        assert missing == []

    def test_only_the_testing_package_imports_pytest(self, path: Path) -> None:
        if "pytest" in imported(tree_of(path)):
            assert path.parent == HOOKS / "testing"


def test_pytest_is_imported_nowhere_else() -> None:
    found = [
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if any(name.split(".")[0] == "pytest" for name in imported(tree_of(path)))
    ]
    suites = ["conformance", "dense_leg", "index_conformance"]
    assert found == [f"hooks/skillcue_hooks/testing/{suite}.py" for suite in suites]


@pytest.mark.parametrize(("room", "package"), ROOMS.items())
def test_each_source_root_holds_exactly_one_package(room: str, package: str) -> None:
    """All three are on ``sys.path``: anything else would be importable under its bare name."""
    entries = {entry.name for entry in (ROOT / room).iterdir()}
    importable = {name for name in entries if not name.startswith(".")} - {"__pycache__"}
    assert importable == {package}
    assert (ROOT / room / package / "__init__.py").is_file()
    assert (ROOT / room / package / "py.typed").is_file()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_hooks_import_only_pluggy_and_the_standard_library(path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "pluggy", "skillcue_hooks"}
    if path.parent.name == "testing":
        allowed.add("pytest")
    assert {name.split(".")[0] for name in imported(tree_of(path))} <= allowed


def loaded_by(module: str) -> set[str]:
    """Top-level modules that a new process has loaded after importing `module` and not before."""
    program = (
        "import json, sys; before = set(sys.modules)\n"
        f"import {module}\n"
        "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return set(json.loads(run.stdout))


@pytest.mark.parametrize("module", [name_of(p) for p in MODULES if p.parent.name != "testing"])
def test_importing_hooks_loads_only_pluggy_and_the_standard_library(module: str) -> None:
    assert loaded_by(module) - sys.stdlib_module_names <= {"pluggy", "skillcue_hooks"}


def test_the_look_at_loaded_modules_sees_more_where_there_is_more() -> None:
    assert "pytest" in loaded_by("skillcue_hooks.testing")
