"""Runs the code blocks of a Markdown document, one after the other, in one namespace.

What stands right before a block in an HTML comment says what the block is:

``<!-- not run: reason -->``    it is skipped; the reason is counted by a test
``<!-- file: path -->``         it is the content of a file, which is written
``<!-- from: path -->``         it stands in that file of the repository, word for word
``<!-- exit: 1 -->``            the command ends with that exit code instead of 0

A ``text`` block right behind a block that was run is its output; ``...`` stands for any text.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser

__all__ = ["DocumentRunner", "directive", "parse"]

LANGUAGES = ("console", "json", "markdown", "mermaid", "python", "sh", "text", "toml", "yaml")
COMMAND_WAIT_S = 60
SCREEN_COLUMNS = "88"
NO_MARKS = doctest.DONT_ACCEPT_BLANKLINE

_DIRECTIVE = re.compile(r"<!-- (not run|file|from|exit): (.+?) -->\n\Z")
_LLAMA = re.compile(r"^\s*(?:from|import) (?:llama_index|skillcue\.llamaindex)\b", re.MULTILINE)
_LANG = re.compile(
    r"^\s*(?:from|import) (?:langchain|langgraph|deepagents|skillcue\.lang)", re.MULTILINE
)


def parse(path: Path, run: Callable[[Example], str | None]) -> Document:
    """The blocks of `path` in all languages that documents use, evaluated by `run`."""
    parsers = [CodeBlockParser(language, run) for language in LANGUAGES]
    return Document.parse(str(path), *parsers)


def directive(example: Example) -> tuple[str, str]:
    """(kind, value) of the comment right before a block; two empty texts where there is none."""
    found = _DIRECTIVE.search(example.document.text[: example.region.start])
    return (found[1], found[2]) if found else ("", "")


class DocumentRunner:
    """Evaluates the blocks of one document in order.

    Args:
        folder: Where files are written and commands run; also the working directory.
        repository: Root of the repository, for ``from``.
        models: Framework (``langchain``, ``llama_index``) to a maker of the model ``llm``.
    """

    def __init__(
        self, folder: Path, repository: Path, models: dict[str, Callable[[], Any]]
    ) -> None:
        self._folder = folder
        self._repository = repository
        self._models = models
        self._loop = asyncio.Runner()
        self._framework = ""
        self._preset: Any = None
        self._output: tuple[int, str, int] | None = None
        self.ran = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.close()

    def run(self, path: Path) -> None:
        """Evaluate every block; raises `SybilFailure` or whatever a block raises."""
        for example in parse(path, self.evaluate):
            example.evaluate()

    def evaluate(self, example: Example) -> str | None:
        """None where the block does what the document says, else what is wrong."""
        kind, value = directive(example)
        language = str(example.region.lexemes["arguments"])
        if kind == "not run":
            return None
        if kind == "file":
            self._write(value, str(example.parsed))
        if kind == "from":
            problem = self._quoted(value, str(example.parsed))
            if problem:
                return problem
        if language == "python":
            self._python(example)
        if language == "sh" and str(example.parsed).startswith("skillcue"):
            return self._shell(example, int(value) if kind == "exit" else 0)
        if language == "text":
            return self._check_output(example)
        return None

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def _quoted(self, name: str, source: str) -> str | None:
        text = (self._repository / name).read_text("utf-8")
        return None if source.strip("\n") in text else f"this does not stand in {name}"

    def _python(self, example: Example) -> None:
        source = str(example.parsed)
        self._choose_model(source, example.namespace)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        lines = "\n" * (example.line + example.parsed.line_offset)
        code = compile(lines + source, example.path, "exec", flags, dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = eval(code, example.namespace)
            if inspect.iscoroutine(result):
                self._loop.run(result)
        self._ended(example, printed.getvalue(), doctest.ELLIPSIS)

    def _choose_model(self, source: str, namespace: dict[str, Any]) -> None:
        """Preset ``llm`` for the framework a block imports, unless the document made its own."""
        namespace.setdefault("__name__", "document")
        framework = "llama_index" if _LLAMA.search(source) else self._framework or "langchain"
        if _LANG.search(source):
            framework = "langchain"
        if framework != self._framework and namespace.get("llm") is self._preset:
            self._framework = framework
            self._preset = namespace["llm"] = self._models[framework]()

    def _shell(self, example: Example, expected: int) -> str | None:
        printed = ""
        for line in str(example.parsed).splitlines():
            if not line.startswith("skillcue"):
                return f"a block of commands holds {line!r}"
            done = self._command(shlex.split(line, comments=True))
            printed += done.stdout
            if done.returncode != expected:
                return f"{line} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        # Where lines break depends on how long the path of the folder is.
        self._ended(example, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        return None

    def _command(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "COLUMNS": SCREEN_COLUMNS, "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-m", "skillcue", *words[1:]],
            cwd=self._folder,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=COMMAND_WAIT_S,
        )

    def _ended(self, example: Example, printed: str, flags: int) -> None:
        self.ran += 1
        self._output = (example.region.end, printed, flags)

    def _check_output(self, example: Example) -> str | None:
        if self._output is None:
            return None
        end, printed, flags = self._output
        if example.document.text[end : example.region.start].strip():
            return None
        wanted = str(example.parsed)
        # Tables are padded with blanks at line ends, which no document should hold.
        shown = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        if doctest.OutputChecker().check_output(wanted, shown, flags | NO_MARKS):
            return None
        return f"expected:\n{wanted}\nprinted:\n{shown}"
