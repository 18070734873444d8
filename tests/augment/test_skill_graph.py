"""The parser of skill files: capabilities, parameters and examples, whatever the file looks like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillcue import SkillCue
from skillcue_adapters.augment.skill_graph import (
    MAX_CAPABILITIES,
    MAX_EXAMPLES,
    MAX_PARAMETERS,
    Parameter,
    SkillGraph,
    parse_skill_graph,
)
from skillcue_hooks.testing import make_skill

EXAMPLES = Path(__file__).parents[2] / "examples" / "skills"


def graph(body: str, description: str = "Does a thing.", name: str = "some-skill") -> SkillGraph:
    return parse_skill_graph(make_skill(name, description, body))


def parameters(body: str) -> dict[str, Parameter]:
    """All parameters of a file, by name."""
    return {p.name: p for c in graph(body).capabilities for p in c.parameters}


def test_headings_are_capabilities_and_generic_ones_are_not() -> None:
    found = graph(
        "# Title\n\n## Overview\nText.\n\n## 1. Merge files\nJoins them. Always.\n\n"
        "## Step 2: Split a file\n- By page.\n\n## Troubleshooting\nNo.\n\n## Best practices\nNo."
    )
    assert [(c.name, c.description) for c in found.capabilities] == [
        ("Merge files", "Joins them."),
        ("Split a file", "By page."),
    ]


def test_a_file_without_structure_has_one_capability_the_skill_itself() -> None:
    found = graph("Just prose, nothing else.", "Counts sheep. Use at night.", "sheep-counting")
    assert [(c.name, c.description) for c in found.capabilities] == [
        ("sheep-counting", "Counts sheep.")
    ]


def test_headings_inside_code_are_no_headings() -> None:
    found = graph("## Real one\n```bash\n## not one\n```\n~~~\n```\n## nor this\n~~~\n")
    assert [c.name for c in found.capabilities] == ["Real one"]


def test_a_table_of_arguments() -> None:
    found = parameters(
        "## Resize\n\n"
        "| Parameter | Type | Required | Default | Description |\n|---|:--|--|--|---|\n"
        "| `width` | int | yes | - | Pixels, between 1 and 4096 |\n"
        "| `mode` | string | no | `fit` | One of `fit`, `fill` or `crop` |\n"
        "| `keep_ratio` | bool | | true | Keeps it |\n"
        "| `label` | str | no | | e.g. `draft` \\| pipe |\n"
    )
    assert found["width"] == Parameter(
        "width", "integer", True, None, 1.0, 4096.0, (), (), "Pixels, between 1 and 4096"
    )
    assert found["mode"] == Parameter(
        "mode", "string", False, "fit", None, None, ("fit", "fill", "crop"), (),
        "One of fit, fill or crop",
    )  # fmt: skip
    assert (found["keep_ratio"].type, found["keep_ratio"].default) == ("boolean", "true")
    assert found["label"].examples == ("draft",)


def test_a_table_about_something_else_has_no_parameters() -> None:
    assert not parameters("## Fixes\n\n| Finding | Fix |\n|---|---|\n| `x` | y |\n")
    assert not parameters("## People\n\n| Name | Town |\n|---|---|\n| Ada | London |\n")


def test_a_table_of_names_counts_when_it_has_types() -> None:
    found = parameters("## Call\n\n| Name | Type |\n|---|---|\n| town | str |\n| n | float |\n")
    assert {name: p.type for name, p in found.items()} == {"town": "string", "n": "number"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- name (string, required): who it is", ("string", True, None)),
        ("- **name** (str, optional): who; defaults to `me`", ("string", False, "me")),
        ("* `name` (int, default: 3) - how many", ("integer", False, "3")),
        ("- `name` [float]: a number", ("number", False, None)),
        ("- **name (list[str], required)**: several", ("array", True, None)),
    ],
)
def test_list_items_describe_parameters(line: str, expected: tuple[str, bool, str | None]) -> None:
    found = parameters(f"## Do it\n\n{line}\n")["name"]
    assert (found.type, found.required, found.default) == expected


def test_list_items_without_type_count_below_a_heading_of_parameters() -> None:
    body = "- `town`: where, e.g. Oslo\n- `days`: how many, at most 14, default 3\n"
    assert not parameters(f"## Forecast\n\n{body}")
    found = graph(f"## Forecast\n\nSays what comes.\n\n### Arguments\n\n{body}")
    (forecast,) = found.capabilities
    assert [(p.name, p.default, p.maximum, p.examples) for p in forecast.parameters] == [
        ("town", None, None, ("Oslo",)),
        ("days", "3", 14.0, ()),
    ]


def test_flags_of_commands() -> None:
    found = parameters(
        "## Convert\n\n```bash\nconv in.pdf --format {png,jpg} --dpi 300 --out=page.png \\\n"
        "  --force --limit N --title 'two words' [--quality 80]\n```\n"
        "```python\nx = '--never 3'\n```\n"
    )
    assert found == {
        "format": Parameter("format", "string", choices=("png", "jpg")),
        "dpi": Parameter("dpi", "integer", examples=("300",)),
        "out": Parameter("out", "string", examples=("page.png",)),
        "force": Parameter("force", "boolean"),
        "limit": Parameter("limit"),
        "title": Parameter("title", "string", examples=("two words",)),
        "quality": Parameter("quality", "integer", examples=("80",)),
    }


def test_a_flag_that_is_described_and_used_is_one_parameter() -> None:
    found = graph(
        "## Convert\n\n```sh\nconv --page-size a4\n```\n\n- `--page_size` (string): one of a4, a5\n"
    ).capabilities[0]
    (size,) = found.parameters
    assert (size.choices, size.examples) == (("a4", "a5"), ("a4",))


def test_functions_are_capabilities() -> None:
    found = graph(
        "## API\n\n```python\ndef resize(image: str, width: int = 10, *, mode: Literal['a', 'b'],\n"
        "           sizes: dict[str, int] = {'x': 1}, **kwargs) -> None:\n"
        '    """Makes it smaller. Or larger."""\n```\n'
        "```js\nexport async function load(url, { retries } = {}) {}\n```\n"
        "- `crop(box, pad=0)`: cuts it\n"
    )
    names = {c.name: c for c in found.capabilities}
    assert names["resize"].description == "Makes it smaller."
    assert [(p.name, p.type, p.required, p.default, p.choices) for p in names["resize"].parameters]
    image, width, mode, sizes = names["resize"].parameters
    assert (image.type, image.required) == ("string", True)
    assert (width.type, width.default, width.required) == ("integer", "10", False)
    assert (mode.choices, mode.required) == (("a", "b"), True)
    assert sizes.type == "object"
    assert [p.name for p in names["load"].parameters] == ["url"]
    assert [(p.name, p.default) for p in names["crop"].parameters] == [("box", None), ("pad", "0")]


def test_listed_features_are_capabilities_instead_of_their_heading() -> None:
    found = graph("## Features\n\n- **Merge**: joins files.\n- **Split** - cuts.\n  - not this\n")
    assert [(c.name, c.description) for c in found.capabilities] == [
        ("Merge", "joins files."),
        ("Split", "cuts."),
    ]


def test_examples_are_what_users_are_quoted_with() -> None:
    found = graph(
        '## Usage examples\n\n- "turn this table into a chart"\n- "no"\n\nUser: what is it worth?\n'
        '\n## Notes\n\nThe word "is quoted here too".\n',
        'Makes charts. Use when the user says "draw me the sales".',
    )
    assert found.examples == (
        "draw me the sales",
        "what is it worth?",
        "turn this table into a chart",
    )


def test_limits_hold() -> None:
    many = "".join(f"## Task {n}x\n\n" for n in range(100))
    flags = " ".join(f"--flag{n} {n}" for n in range(100))
    quotes = "".join(f'- "please do number {n}"\n' for n in range(100))
    found = graph(f"## First\n```\nrun {flags}\n```\n{many}## Examples\n{quotes}")
    assert len(found.capabilities) == MAX_CAPABILITIES
    assert len(found.capabilities[0].parameters) == MAX_PARAMETERS
    assert len(found.examples) == MAX_EXAMPLES


@pytest.mark.parametrize(
    "piece",
    ["- `a` (" * 3, "| ", "`" * 7 + " ", "[x](", "**", "--a ", "def f(", "<", "(((", "default ",
     "1.", " \t", "\\|", "a.", "one of ", '"'],
)  # fmt: skip
def test_hostile_repetition_ends(piece: str) -> None:
    """A pattern that goes back over its text again and again would not."""
    for line_end in ("", "\n"):
        body = "## Options\n" + (piece + line_end) * 20_000
        assert graph(body, description=body[:5_000]).capabilities


@given(st.text(alphabet="#`|-*>\n \t()[]{}:=,.\"'\\ab1_<", max_size=300))
def test_no_text_makes_it_raise(body: str) -> None:
    found = graph(body, description=body)
    assert found.capabilities
    assert found == graph(body, description=body)


def test_real_files_have_capabilities_of_their_own_and_some_have_parameters() -> None:
    with SkillCue(EXAMPLES, mode="bm25") as cue:
        found = [parse_skill_graph(skill) for skill in cue.list()]
    assert len(found) > 30
    alone = [g.skill_id for g in found if len(g.capabilities) < 2]
    assert len(alone) < len(found) // 10, alone
    assert sum(any(c.parameters for c in g.capabilities) for g in found) >= 10


def test_other_processes_read_the_same() -> None:
    script = (
        "import sys; from skillcue import SkillCue\n"
        "from skillcue_adapters.augment.skill_graph import parse_skill_graph\n"
        "print([parse_skill_graph(s) for s in SkillCue(sys.argv[1], mode='bm25').list()])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script, str(EXAMPLES)],
            check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1
