"""What importing costs, and that everything public is listed, typed and documented."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillcue
import skillcue_adapters

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path
    for room in ("plugin", "adapters")
    for path in (ROOT / room).rglob("*.py")
    if path.name != "__main__.py"
)
HEAVY = (
    "numpy",
    "scipy",
    "pydantic",
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "mcp",
    "torch",
    "rich",
    "diskcache",
)


def loaded_by(program: str) -> set[str]:
    """Top-level modules that a program has imported at its end."""
    code = f"import sys, json\n{program}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


# imports


def test_importing_the_package_loads_nothing_but_it():
    loaded = loaded_by("import skillcue")
    assert loaded & {*HEAVY, "yaml", "pluggy", "asyncio", "skillcue_adapters"} == set()


def test_importing_the_facade_loads_no_framework_and_no_numpy():
    loaded = loaded_by("from skillcue import SkillCue, skill_mode, PushSettings, FolderSource")
    assert loaded & set(HEAVY) == set()


def test_asking_a_library_loads_no_framework(example_skills):
    messages = [{"role": "user", "content": "fill in a pdf form"}]
    loaded = loaded_by(
        f"from skillcue import SkillCue\ncue = SkillCue({str(example_skills)!r})\n"
        f"cue.list(), cue.load('git-bisect'), cue.advise({messages!r}), cue.tools().lookup('pdf')"
    )
    frameworks = {"pydantic", "langchain", "langchain_core", "langgraph", "llama_index", "torch"}
    assert loaded & frameworks == set()
    assert "numpy" in loaded  # the measure sees what is loaded


def test_a_library_without_a_search_needs_no_arrays(example_skills):
    loaded = loaded_by(
        f"from skillcue import SkillCue\ncue = SkillCue({str(example_skills)!r}, cache=False)\n"
        "cue.list(), cue.load('git-bisect'), cue.tools().list(), cue.modes, cue.diagnostics"
    )
    assert loaded & {"numpy", "scipy", "diskcache"} == set()


def test_everything_public_can_be_imported_from_the_top():
    assert skillcue.__all__ == sorted(skillcue.__all__)
    assert [getattr(skillcue, name) for name in skillcue.__all__]
    assert dir(skillcue) == sorted(skillcue.__all__)
    with pytest.raises(AttributeError, match="no_such"):
        _ = skillcue.no_such


@pytest.mark.parametrize("package", [skillcue, skillcue_adapters], ids=lambda p: p.__name__)
def test_every_name_in_all_exists(package):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__"):
            continue
        try:
            found = importlib.import_module(module.name)
        except ModuleNotFoundError as error:  # a part for packages that are optional
            assert not str(error.name).startswith("skillcue"), error
            continue
        for name in getattr(found, "__all__", ()):
            assert hasattr(found, name), (module.name, name)


# `__all__`, types and words, file by file


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def in_order(name: str) -> tuple[int, str]:
    """Constants, classes, functions; each by name, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def is_public(name: str) -> bool:
    return not name.startswith("_")


Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, ast.ClassDef | None]]:
    """Public functions, and public methods and ``__init__`` of public classes."""
    for node in tree.body:
        if isinstance(node, Function) and is_public(node.name):
            yield node.name, node, None
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            for method in node.body:
                if isinstance(method, Function) and (
                    is_public(method.name) or method.name == "__init__"
                ):
                    yield f"{node.name}.{method.name}", method, node


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=by_name)
def test_all_is_sorted_and_complete(path):
    tree = tree_of(path)
    names = exported(tree)
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, Function | ast.ClassDef) and is_public(node.name)
    }
    if names is None:
        assert not defined, f"{sorted(defined)} are public, and there is no __all__"
        return
    assert names == sorted(names, key=in_order)
    assert len(names) == len(set(names))
    assert defined <= set(names), f"not in __all__: {sorted(defined - set(names))}"


def untyped(function: Function, method: bool) -> list[str]:
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args][1 if method else 0 :]
    if any(ast.unparse(d) == "staticmethod" for d in function.decorator_list):
        names = [*arguments.posonlyargs, *arguments.args]
    names += [*arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]
    missing = [name.arg for name in names if name.annotation is None]
    return missing + ([] if function.returns else ["return"])


@pytest.mark.parametrize("path", FILES, ids=by_name)
def test_public_functions_are_typed(path):
    wrong = {
        name: missing
        for name, function, owner in public_functions(tree_of(path))
        if (missing := untyped(function, owner is not None))
    }
    assert wrong == {}


def documented_in_hooks() -> frozenset[str]:
    """Methods of the roles and hooks: what they do is said where they are defined."""
    paths = [ROOT / "hooks" / "skillcue_hooks" / name for name in ("protocols.py", "specs.py")]
    return frozenset(
        node.name
        for path in paths
        for node in ast.walk(tree_of(path))
        if isinstance(node, Function)
    )


IN_HOOKS = documented_in_hooks()


def needs_words(function: Function, owner: ast.ClassDef | None) -> bool:
    """Not what implements a role or overrides a base class, and not what a property is called."""
    if function.name in IN_HOOKS or function.name == "__init__":
        return False
    is_property = any(ast.unparse(d) == "property" for d in function.decorator_list)
    return not is_property and not (owner is not None and owner.bases)


@pytest.mark.parametrize("path", [f for f in FILES if f.stat().st_size], ids=by_name)
def test_modules_classes_and_functions_are_documented(path):
    tree = tree_of(path)
    missing = [] if ast.get_docstring(tree) else ["the module"]
    missing += [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and is_public(node.name) and not ast.get_docstring(node)
    ]
    missing += [
        name
        for name, function, owner in public_functions(tree)
        if needs_words(function, owner) and not ast.get_docstring(function)
    ]
    assert missing == []


def test_a_broad_except_says_why():
    """Swallowing everything is a decision; its reason stands beside it."""
    silent = []
    for path in FILES:
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.ExceptHandler) or node.type is None:
                continue
            broad = ast.unparse(node.type) in ("Exception", "BaseException")
            passed_on = any(isinstance(step, ast.Raise) for step in node.body)
            words = re.sub(r"noqa:\s*[A-Z]+\d+", "", lines[node.lineno - 1])
            if broad and not passed_on and not re.search(r"#\W*\w", words):
                silent.append(f"{by_name(path)}:{node.lineno}")
    assert silent == []
