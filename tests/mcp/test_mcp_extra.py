"""What importing costs, and what is said without the SDK."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.mcp_clients import environment


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )


def test_importing_skillcue_and_its_command_line_loads_no_sdk():
    done = run(
        "import sys, skillcue, skillcue.facade, skillcue.cli, skillcue.commands.serve\n"
        "print(sorted({'mcp', 'mcp_types', 'uvicorn', 'starlette', 'anyio'} & set(sys.modules)))"
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("missing", ["mcp", "mcp.server.mcpserver"])
def test_without_the_extra_the_error_is_the_install_line(missing, example_skills):
    gone = f"import sys\nsys.modules[{missing!r}] = None\n"
    imported = run(
        f"{gone}from skillcue_hooks.errors import MissingExtraError\n"
        "try:\n    import skillcue.mcp\nexcept MissingExtraError as error:\n    print(error)"
    )
    served = run(
        f"{gone}from skillcue.cli import main\nsys.exit(main(sys.argv[1:]))",
        "serve",
        "--skills",
        str(example_skills),
    )
    cure = 'pip install "skillcue[mcp]"'
    assert cure in imported.stdout, imported.stderr
    assert (served.returncode, served.stdout) == (2, "")
    assert cure in served.stderr
