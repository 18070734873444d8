"""``skillcue index``: makes an index, goes on with one, and says what it did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import write_skill

from skillcue import SkillCue


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """More skills than are encoded at once."""
    for number in range(700):
        write_skill(
            tmp_path / "skills", f"skill-{number}", f"Handles case {number} of orchard care."
        )
    return tmp_path / "skills"


def test_the_second_run_has_nothing_to_do(cli, example_skills, tmp_path):
    command = ("index", "--skills", example_skills, "--cache", tmp_path, "--encoder", "static")
    first = cli(*command)
    assert (first.code, first.err) == (0, "")
    assert "encoded, 0 were there already." in first.out
    again = cli(*command)
    assert again.code == 0
    assert again.out.startswith("Nothing to do: all ")
    assert str(tmp_path) in again.out


def test_json_says_what_was_done(cli, large, tmp_path):
    command = ("index", "--skills", large, "--cache", tmp_path / "c", "--encoder", "static")
    first = cli(*command, "--json").json
    assert first["mode"] == "skillsight"
    assert (first["skills"], first["texts"], first["encoded"], first["known"]) == (700, 700, 700, 0)
    assert first["complete"] is True
    files = list((tmp_path / "c").glob("*/*/*.skcue"))
    assert first["bytes"] == sum(path.stat().st_size for path in files) > 700 * 256 * 4
    write_skill(large, "one-more", "Picks the apples.")
    again = cli(*command, "--json").json
    assert (again["texts"], again["encoded"], again["known"]) == (701, 1, 700)


def test_the_library_uses_what_the_command_made(cli, large, tmp_path, monkeypatch):
    cache = tmp_path / "c"
    cli("index", "--skills", large, "--cache", cache, "--encoder", "static")
    from skillcue_adapters.encoders.static import StaticEncoder

    def fail(self, texts):
        raise AssertionError(f"{len(texts)} texts are encoded again")

    monkeypatch.setattr(StaticEncoder, "encode_documents", fail)
    with SkillCue(large, cache=cache, encoder="static", wait=True) as cue:
        ranking = cue.lookup("orchard case 17")
        assert ranking.degraded is None
        assert ranking.hits[0].skill.name == "skill-17"


def test_bodies_are_encoded_when_asked_for(cli, example_skills, tmp_path):
    command = ("index", "--skills", example_skills, "--cache", tmp_path, "--encoder", "static")
    heads = cli(*command, "--json").json
    bodies = cli(*command, "--bodies", "all", "--json").json
    assert bodies["texts"] > 2 * heads["texts"]
    assert bodies["known"] == heads["texts"]


def test_a_mode_without_vectors_says_so(cli, example_skills, tmp_path):
    result = cli("index", "--skills", example_skills, "--cache", tmp_path, "--mode", "bm25")
    assert result.code == 0
    assert "bm25 encodes nothing" in result.out


def test_without_a_folder_it_says_what_is_missing(cli, example_skills):
    result = cli("index", "--skills", example_skills)
    assert result.code == 2
    assert "--cache FOLDER" in result.err


def test_an_empty_library_is_exit_code_1(cli, tmp_path):
    (tmp_path / "skills").mkdir()
    result = cli("index", "--skills", tmp_path / "skills", "--cache", tmp_path / "c")
    assert result.code == 1
    assert "There is no skill" in result.err


def test_a_failing_encoder_is_exit_code_1(cli, large, tmp_path, monkeypatch):
    from skillcue_adapters.encoders.static import StaticEncoder

    def fail(self, texts):
        raise RuntimeError("no more memory")

    monkeypatch.setattr(StaticEncoder, "encode_documents", fail)
    result = cli("index", "--skills", large, "--cache", tmp_path / "c", "--encoder", "static")
    assert result.code == 1
    assert "Encoding failed: no more memory" in result.err


def test_a_bar_shows_on_a_terminal(terminal, large, tmp_path):
    command = ("index", "--skills", large, "--cache", tmp_path / "c")
    shown = terminal(*command).out
    assert "encoding" in shown
    assert "/700" in shown
    assert "/s" in shown
    assert "encoding" not in terminal(*command, "--no-progress").out.replace("encoding fail", "")


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_stopped_it_goes_on_where_it_was(cli, large, tmp_path, with_signal):
    """Ctrl-C leaves with 130 and a note; a killed process says nothing. Both keep their work."""
    command = ["index", "--skills", str(large), "--cache", str(tmp_path / "c")]
    code = (
        "import sys\n"
        "from skillcue_adapters.index import vectors\n"
        "vectors.FLUSH_ROWS = 64\n"
        "from skillcue.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "c").rglob("vectors/*/*.skcue")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, with_signal)
    _, err = process.communicate(timeout=60)
    if with_signal == signal.SIGINT:
        assert process.returncode == 130
        assert "of 700 texts are kept" in err
    assert "Traceback" not in err
    result = cli(*command, "--json").json
    assert result["complete"] is True
    assert result["encoded"] + result["known"] == 700
    assert result["encoded"] > 0  # it did not work on until it was done
    assert result["known"] >= 64
