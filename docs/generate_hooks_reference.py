"""Writes docs/reference/hooks.md: every hook with its signature, text and a working plugin."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator

from docstrings import REFERENCE, first_line, inline, table, write

from skillcue_hooks.specs import HOOK_KINDS, SkillcueSpecs

INTRO = """# Hooks

What a plugin can implement. A plugin is an object or a module with functions marked `@hookimpl`:

- `SkillCue(..., plugins=[MyPlugin()])` uses it in one program.
- An installed package offers it to every program, in its `pyproject.toml`:

```toml
[project.entry-points.skillcue]
my_plugin = "my_package.plugin"
```

`skillcue plugins` lists what is loaded. `SKILLCUE_LOAD_PLUGINS="a,b"` loads only these entry points,
an empty value none; `SKILLCUE_BLOCK_PLUGINS="a"` never loads `a`, whoever brings it. While pytest runs,
entry points are only loaded when `SKILLCUE_LOAD_PLUGINS` is set.

| kind | what happens to the answers |
| --- | --- |
| collecting | every implementation is called and all answers count |
| firstresult | the first answer that is not None counts |
| observer | answers are ignored |

Rules for all of them:

- The last registered runs first: plugins of the program, then installed ones, then the built-ins.
  `@hookimpl(tryfirst=True)` and `trylast=True` change that.
- Arguments come by keyword. Name those you need, without defaults.
- Implementations are plain functions. An `async def`, a generator, a hook wrapper, a misspelt name, an
  unknown argument and a forgotten `@hookimpl` are a [`PluginError`](errors.md#pluginerror) when the
  plugin is registered. An installed plugin with one of these is skipped, with a warning that names it
  and its version.
- Implementations are called apart from the others. An observer that raises is logged under
  `skillcue.plugins`, with the names of the plugin and the hook, and skipped. For the other hooks it is
  said below what an exception means; where nothing is said, it reaches the caller.
- A plugin is called by the name of its class or module, or of its entry point; a second one of the
  same class is `Name#2`. Block lists and log lines go by these names.
"""

EXAMPLES = REFERENCE / "hook_examples.py"


def page() -> str:
    """The text of the page.

    Raises:
        ValueError: A hook has no example, or more than one.
    """
    examples = _examples(EXAMPLES.read_text("utf-8"))
    rows = [(f"`{hook}`", kind, _purpose(hook)) for hook, kind in HOOK_KINDS.items()]
    parts = [INTRO, table(("hook", "kind", "what for"), rows)]
    parts += [_section(hook, kind, examples[hook]) for hook, kind in HOOK_KINDS.items()]
    return "\n".join(parts)


def main() -> None:
    write("hooks.md", "generate_hooks_reference.py", page())


def _purpose(hook: str) -> str:
    return first_line(getattr(SkillcueSpecs, hook)).partition(". ")[0].rstrip(".")


def _section(hook: str, kind: str, example: str) -> str:
    function = getattr(SkillcueSpecs, hook)
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    text = "\n\n".join(inline(paragraph) for paragraph in paragraphs)
    return f"## `{hook}{_signature(hook)}`\n\nKind: {kind}. {text}\n\n```python\n{example}\n```\n"


def _signature(hook: str) -> str:
    found = inspect.signature(getattr(SkillcueSpecs, hook))
    arguments = [p for name, p in found.parameters.items() if name != "self"]
    # Annotations are texts and would be shown in quotes.
    return str(found.replace(parameters=arguments)).replace("'", "")


def _examples(source: str) -> dict[str, str]:
    """Hook to the source of its plugin, with the imports and classes it needs before it."""
    tree = ast.parse(source)
    found: dict[str, str] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for hook in HOOK_KINDS.keys() & {n.name for n in node.body if hasattr(n, "name")}:
            if hook in found:
                raise ValueError(f"{hook} has two examples")
            found[hook] = _complete(source, tree, node)
    if missing := HOOK_KINDS.keys() - found:
        raise ValueError(f"no example for {', '.join(sorted(missing))}")
    return found


def _complete(source: str, tree: ast.Module, plugin: ast.ClassDef) -> str:
    helpers = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef) and n is not plugin}
    classes = [node for name, node in helpers.items() if name in _names(plugin)] + [plugin]
    groups: dict[int, list[str]] = {}
    for line in _imports(tree, set().union(*map(_names, classes))):
        groups.setdefault(_origin(line.split()[1]), []).append(line)
    imports = "\n\n".join("\n".join(groups[origin]) for origin in sorted(groups))
    return "\n\n\n".join([imports, *(_source(source, node) for node in classes)])


def _origin(module: str) -> int:
    """0 for the standard library, 2 for skillcue, 1 for what is between them."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return 0
    return 2 if package.startswith("skillcue") else 1


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _source(source: str, node: ast.ClassDef) -> str:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(source.splitlines()[first - 1 : node.end_lineno])


def _imports(tree: ast.Module, used: set[str]) -> Iterator[str]:
    """The import statements of the module, cut down to the names that are used."""
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias for alias in node.names if (alias.asname or alias.name) in used]
        if isinstance(node, ast.ImportFrom) and node.module != "__future__" and names:
            yield ast.unparse(ast.ImportFrom(node.module, names, node.level))
        elif isinstance(node, ast.Import) and names:
            yield ast.unparse(ast.Import(names))


if __name__ == "__main__":
    main()
