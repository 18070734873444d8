"""doctor: every problem with its cure, what is alike, what the library costs, the bar."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_skill

from skillcue import SkillCue
from skillcue.push.budget import estimate_tokens


def write_raw(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text, "utf-8")


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    """A library with two kinds of warnings, one of them twice, and one error."""
    folder = tmp_path / "untidy"
    write_skill(folder, "clean", "Does something clean.")
    write_raw(
        folder, "one", "---\nname: one\ndescription: Jobs: pruning and mowing\n---\n\nBody.\n"
    )
    write_raw(
        folder, "two", "---\nname: two\ndescription: Tasks: baking and frying\n---\n\nBody.\n"
    )
    write_raw(folder, "other", "---\nname: another\ndescription: Named otherwise.\n---\n\nBody.\n")
    (folder / "garbage").mkdir()
    (folder / "garbage" / "SKILL.md").write_bytes(bytes(range(256)) * 40)
    return folder


def test_problems_are_grouped_by_kind_with_one_cure_each(process, untidy):
    result = process("doctor", "--skills", untidy, env={"COLUMNS": "200"})
    assert result.code == 1
    with SkillCue(untidy) as cue:
        diagnostics = cue.diagnostics
    codes = [item.code for item in diagnostics]
    assert len(set(codes)) < len(codes)  # else there is nothing to group
    for item in diagnostics:
        heading = f"{item.severity}: {item.code} ({codes.count(item.code)})"
        assert result.out.count(heading) == 1
        assert f"{item.path}{f':{item.line}' if item.line else ''}: {item.message}" in result.out
        assert result.out.count(f"cure  {item.remedy}") == 1
    assert result.out.index("error: ") < result.out.index("warning: ")
    assert result.err == ""


def test_json_has_every_diagnostic(cli, untidy):
    result = cli("doctor", "--skills", untidy, "--json")
    with SkillCue(untidy) as cue:
        expected = {(d.code, d.severity, str(d.path), d.line, d.message) for d in cue.diagnostics}
    found = result.json["diagnostics"]
    assert {
        tuple(d[k] for k in ("code", "severity", "path", "line", "message")) for d in found
    } == (expected)
    assert (result.json["errors"], result.json["warnings"]) == (1, 3)


def test_many_places_are_cut_on_the_screen_and_said_to_be(cli, tmp_path):
    for number in range(30):
        text = f"---\nname: n{number}\ndescription: Jobs: kind {number}\n---\n\nBody {number}.\n"
        write_raw(tmp_path, f"n{number}", text)
    out = cli("doctor", "--skills", tmp_path).out
    assert "(30)" in out
    assert "and 10 more; --json lists them" in out


def test_exit_codes_for_errors_and_strict(cli, untidy, example_skills, tmp_path):
    write_raw(tmp_path / "warned", "one", "---\nname: one\ndescription: Jobs: mowing\n---\n\nX.\n")
    assert cli("doctor", "--skills", untidy).code == 1
    assert cli("doctor", "--skills", tmp_path / "warned").code == 0
    assert cli("doctor", "--skills", tmp_path / "warned", "--strict").code == 1
    assert cli("doctor", "--skills", example_skills, "--strict").code == 0


def test_similar_descriptions_are_named_and_change_no_exit_code(cli, tmp_path):
    text = "Merges, splits and rotates {} documents without changing what stands on the pages."
    for name, word in (("a", "pdf"), ("b", "pdf"), ("c", "tiff")):
        write_skill(tmp_path, name, text.format(word), f"# {name}\n\nBody of {name}.\n")
    write_skill(tmp_path, "d", "Waters the tulips on the balcony.")
    result = cli("doctor", "--skills", tmp_path, "--strict")
    assert result.code == 0
    (group,) = cli("doctor", "--skills", tmp_path, "--json").json["similar"]["groups"]
    assert group["first"] == "a@a"
    assert [(o["id"], o["similarity"]) for o in group["others"]] == [("b@b", 1.0), ("c@c", 0.7778)]
    assert "a@a is like b@b (100%), c@c (78%)" in result.out


def test_tokens_are_those_of_the_whole_library(cli, example_skills):
    tokens = cli("doctor", "--skills", example_skills, "--json").json["tokens"]
    with SkillCue(example_skills) as cue:
        skills = cue.snapshot().library.skills
        bodies = {skill.id: estimate_tokens(cue.load(skill.id).text) for skill in skills}
        catalogue = "\n".join(f"{skill.name}: {skill.description}" for skill in skills)
    assert tokens["descriptions"] == estimate_tokens(catalogue)
    assert abs(tokens["bodies"] - sum(bodies.values())) <= len(skills)  # a final line break each
    assert tokens["everything"] == tokens["descriptions"] + tokens["bodies"]
    assert tokens["largest"][0]["id"] == max(bodies, key=lambda skill_id: bodies[skill_id])
    sizes = [item["tokens"] for item in tokens["largest"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 5


def test_a_bar_for_large_libraries_on_a_terminal_only(terminal, process, tmp_path):
    for number in range(600):
        write_skill(tmp_path, f"skill-{number}", f"Handles thing {number}.", f"# {number}\n\nGo.\n")
    shown = terminal("list", "--skills", tmp_path).out
    assert "reading skills" in shown
    assert "/600" in shown
    assert "reading skills" not in terminal("list", "--no-progress", "--skills", tmp_path).out
    assert process("list", "--skills", tmp_path).err == ""


def test_a_bar_while_files_are_assessed_on_a_terminal_only(terminal, process, example_skills):
    command = ("doctor", "--files", "--skills", example_skills)
    assert "assessing files" in terminal(*command).out
    piped = process(*command)
    assert "assessing files" not in piped.out + piped.err
    assert "files beside SKILL.md: " in piped.out and piped.code == 0


def test_no_bar_for_small_libraries(terminal, example_skills):
    assert "reading skills" not in terminal("list", "--skills", example_skills).out
