"""``skillcue augment``: what it makes, says, costs, and leaves alone."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.augmenting import answer, write_skill


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    write_skill(
        folder,
        "pdf-tools",
        "Merge, split and rotate PDF files.",
        "## Merge files\n\n- dpi (int, required): between 72 and 600\n\n## Split a file\n\nCuts.",
    )
    write_skill(folder, "bread", "Bake bread: plan, shape and proof the dough.", "## Bake it\n")
    return folder


class Endpoint(BaseHTTPRequestHandler):
    """Speaks enough of the OpenAI protocol: about PDF files a valid answer, else nonsense."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        text = answer() if '\\"name\\": \\"pdf-tools\\"' in body else "I do not know."
        message = {"role": "assistant", "content": text}
        found = json.dumps(
            {
                "id": "1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_args: object) -> None:
        """Say nothing on stderr."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"openai:m@http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_it_augments_once_and_then_only_what_changed(cli, skills, tmp_path):
    cache = tmp_path / "cache"
    common = ("augment", "--skills", skills, "--cache", cache, "--json")
    first = cli(*common)
    assert (first.code, first.json["made"], first.json["known"]) == (0, 2, 0)
    assert first.json["exec_pass"] == 1.0
    assert first.json["func_coverage"] == 1.0
    assert 0 < first.json["distinct_3"] <= 1
    assert 0.5 < first.json["echo_rate"] <= 1
    assert first.json["tagged"] == 2
    again = cli(*common)
    assert (again.json["made"], again.json["known"]) == (0, 2)
    write_skill(skills, "bread", "Bake rolls: plan, shape and proof the dough.")
    assert cli(*common).json["made"] == 1


def test_damage_is_told_once_and_taken_out(process, skills, tmp_path):
    options = ("--skills", skills, "--cache", tmp_path / "cache")
    process("augment", *options)
    [path] = (tmp_path / "cache" / "augment").glob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(b"damage\n" + whole)
    search = ("search", "merge pdf", *options, "--mode", "bm25", "--augment")
    for _ in range(2):  # reading alone repairs nothing
        assert process(*search).err.count("has 1 damaged line;") == 1
    assert process("augment", *options).err.count("has 1 damaged line;") == 1
    assert path.read_bytes() == whole
    assert "damaged" not in process("augment", *options).err + process(*search).err


def test_skill_files_are_left_alone(cli, skills, tmp_path):
    def state() -> dict[str, str]:
        files = sorted(path for path in skills.rglob("*") if path.is_file())
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before = state()
    cli("augment", "--skills", skills, "--cache", tmp_path / "cache")
    assert state() == before


def test_the_table_for_people(process, skills, tmp_path):
    found = process("augment", "--skills", skills, "--cache", tmp_path / "cache")
    assert found.code == 0
    for label in ("Exec-Pass", "Func-Coverage", "Distinct-3", "echo rate", "pseudo-queries"):
        assert label in found.out
    assert "2: 2 augmented, 0 were already" in found.out


def test_a_dry_run_says_what_it_would_cost_and_does_nothing(cli, skills, tmp_path):
    cache = tmp_path / "cache"
    common = ("augment", "--skills", skills, "--cache", cache, "--dry-run")
    found = cli(*common)
    assert "2 skills to augment, 0 were augmented already" in found.out
    assert "costs nothing" in found.out
    model = ("--llm", "openai:m@http://127.0.0.1:9/v1")
    assert "unknown money" in cli(*common, *model).out
    found = cli(*common, *model, "--price", "1000000,0", "--json")
    estimate = found.json["estimate"]
    assert estimate["money"] == estimate["input_tokens"] > 500
    assert (estimate["calls"], estimate["output_tokens"]) == (2, 2000)
    assert not cache.exists()


def test_a_model_is_asked_and_where_it_fails_the_rules_stand_in(cli, skills, tmp_path, endpoint):
    pytest.importorskip("langchain_core")
    options = ("--llm", endpoint, "--price", "1,10", "--json")
    found = cli("augment", "--skills", skills, "--cache", tmp_path / "cache", *options)
    assert found.code == 1
    assert "about" in found.err, "the estimate comes before it starts"
    assert [f["id"] for f in found.json["fallbacks"]] == ["bread@bread"]
    assert "no JSON object" in found.json["fallbacks"][0]["reason"]
    usage = found.json["usage"]
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (3, 3000, 300)
    assert usage["money"] == pytest.approx(0.006)
    again = cli("augment", "--skills", skills, "--cache", tmp_path / "cache", *options)
    assert (again.json["made"], again.json["usage"]["calls"]) == (1, 2), "only the failed one"


def test_a_search_finds_it_when_told_to(cli, skills, tmp_path, endpoint):
    pytest.importorskip("langchain_core")
    cache = tmp_path / "cache"
    cli("augment", "--skills", skills, "--cache", cache, "--llm", endpoint)
    search = ("search", "tear apart", "--skills", skills, "--mode", "bm25", "--cache", cache)
    assert cli(*search, "--json").code == 1
    found = cli(*search, "--json", "--augment")
    assert (found.code, found.json["hits"][0]["name"]) == (0, "pdf-tools")
    assert "tear" not in json.dumps(found.json["hits"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--price", "1,2"], "--price needs a model"),
        (["--llm", "openai:m@http://x/v1", "--price", "cheap"], "two numbers"),
        (["--llm", "openai:m@http://x/v1", "--price", "1"], "two numbers"),
        (["--llm", "openai:m@http://x/v1", "--price=-1,2"], "two numbers"),
        (["--llm", "nonsense"], "openai:"),
    ],
)
def test_wrong_options_are_errors_with_a_cure(cli, skills, tmp_path, arguments, message):
    found = cli("augment", "--skills", skills, "--cache", tmp_path / "c", *arguments)
    assert found.code == 2
    assert message in found.err


def test_the_folder_is_needed_and_no_file(cli, skills, tmp_path):
    assert cli("augment", "--skills", skills).code == 2
    file = tmp_path / "file"
    file.write_text("x")
    found = cli("augment", "--skills", skills, "--cache", file)
    assert (found.code, "is a file" in found.err) == (2, True)


def test_an_empty_library_is_said(cli, tmp_path):
    (tmp_path / "skills").mkdir()
    found = cli("augment", "--skills", tmp_path / "skills", "--cache", tmp_path / "c")
    assert found.code == 1
    assert not (tmp_path / "c").exists()


def test_help_has_examples(cli):
    found = cli("augment", "--help")
    assert found.code == 0
    assert "--dry-run" in found.out
    assert "examples:" in found.out


def test_a_bar_on_a_terminal(terminal, skills, tmp_path):
    found = terminal("augment", "--skills", skills, "--cache", tmp_path / "cache")
    assert found.code == 0
    assert "augmenting" in found.out
    quiet = terminal("augment", "--skills", skills, "--cache", tmp_path / "c2", "--no-progress")
    assert "augmenting" not in quiet.out
