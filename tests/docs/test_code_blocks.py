"""Every code block of README.md and docs/ runs, and prints what the document says it prints."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.documents import LANGUAGES, DocumentRunner, directive, parse
from sybil.example import SybilFailure

pytest.importorskip("langgraph")
pytest.importorskip("llama_index.core")

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"
MOST_NOT_RUN = 6

pytestmark = [
    # Warnings that LlamaIndex raises about itself whenever an agent is built or runs.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:ServiceManager is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),
    # and one that LangChain raises about its MCP client
    pytest.mark.filterwarnings("ignore:`langchain.mcp` is in beta"),
]


def models() -> dict[str, Any]:
    from support.langchain_models import StrictChatModel
    from support.llamaindex_models import StrictLlm

    return {"langchain": StrictChatModel, "llama_index": StrictLlm}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SKILLCUE_SKILLS", raising=False)
    monkeypatch.delenv("SKILLCUE_DEMO_MODEL", raising=False)
    return tmp_path


def run(document: Path, folder: Path) -> int:
    """Run a document; the number of blocks that were run."""
    with DocumentRunner(folder, ROOT, models()) as runner:
        runner.run(document)
        return runner.ran


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def runnable(document: Path) -> int:
    """Number of blocks that hold Python or commands, and do not say that they are not run."""
    return sum(
        language == "python" or (language == "sh" and str(example.parsed).startswith("skillcue"))
        for example in parse(document, lambda _example: None)
        if (language := example.region.lexemes["arguments"]) and directive(example)[0] != "not run"
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_block_runs(document, folder):
    if document != TUTORIAL:  # which starts in an empty folder
        shutil.copytree(ROOT / "examples" / "skills", folder / "skills")
        shutil.copytree(ROOT / "examples", folder / "examples")
    assert run(document, folder) == runnable(document)


def test_tutorial_and_readme_hold_blocks_to_run():
    assert runnable(TUTORIAL) >= 8
    assert runnable(ROOT / "README.md") >= 6


def test_no_block_is_overlooked():
    for document in DOCUMENTS:
        fences = [
            line.strip() for line in document.read_text("utf-8").splitlines()
            if line.lstrip().startswith("```") and line.strip() != "```"
        ]  # fmt: skip
        assert {fence.removeprefix("```") for fence in fences} <= set(LANGUAGES), document
        assert len(list(parse(document, lambda _example: None))) == len(fences), document


def test_few_blocks_are_not_run():
    skipped = [
        f"{name_of(document)}:{example.line}"
        for document in DOCUMENTS
        for example in parse(document, lambda _example: None)
        if directive(example)[0] == "not run"
    ]
    assert len(skipped) <= MOST_NOT_RUN, skipped


FENCE = "```"
WRONG = {
    "raises": (f"{FENCE}python\n1 / 0\n{FENCE}\n", ZeroDivisionError),
    "awaits what raises": (
        f"{FENCE}python\nimport asyncio\nawait asyncio.wait_for(asyncio.sleep(1), 0)\n{FENCE}\n",
        TimeoutError,
    ),
    "prints something else": (
        f"{FENCE}python\nprint(2)\n{FENCE}\n\n{FENCE}text\n3\n{FENCE}\n",
        SybilFailure,
    ),
    "needs a name that no block before it made": (
        f"{FENCE}python\nprint(unknown)\n{FENCE}\n",
        NameError,
    ),
    "ends with another exit code": (
        f"<!-- exit: 1 -->\n{FENCE}sh\nskillcue plugins\n{FENCE}\n",
        SybilFailure,
    ),
    "is no quotation": (
        f"<!-- from: README.md -->\n{FENCE}text\nnot in there\n{FENCE}\n",
        SybilFailure,
    ),
}


@pytest.mark.parametrize("text, error", WRONG.values(), ids=WRONG)
def test_a_document_that_is_wrong_fails(folder, text, error):
    document = folder / "wrong.md"
    document.write_text(f"# Wrong\n\n{text}", "utf-8")
    with pytest.raises(error):
        run(document, folder)


def test_blocks_share_a_namespace_and_outputs_are_compared(folder):
    document = folder / "right.md"
    document.write_text(
        f"{FENCE}python\nfrom llama_index.core import Document\nx = type(llm).__name__\n{FENCE}\n"
        f"{FENCE}python\nprint(x, len(__name__))\n{FENCE}\n\n{FENCE}text\nStrictLlm ...\n{FENCE}\n"
        f"{FENCE}python\nimport langgraph\nassert type(llm).__name__ == 'StrictChatModel'\n{FENCE}\n"
        f"<!-- file: a/b.txt -->\n{FENCE}text\nhello\n{FENCE}\n"
        f"{FENCE}python\nimport pathlib\n"
        f"assert pathlib.Path('a/b.txt').read_text() == 'hello\\n'\n{FENCE}\n",
        "utf-8",
    )
    assert run(document, folder) == 4
