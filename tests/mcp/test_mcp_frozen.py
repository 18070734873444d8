"""A pinned library over MCP: nothing that has changed is handed out, as tools and as resources."""

from __future__ import annotations

import pytest
from conftest import write_skill
from mcp import Client, MCPError
from support.mcp_clients import text_of

from skillcue import FolderSource, SkillCue
from skillcue.locking import measured_library, write_lock
from skillcue.mcp import skill_server


async def test_a_file_that_changes_while_it_is_served_is_refused(tmp_path):
    folder = write_skill(tmp_path / "lib", "tea", "Brew tea.", "Use water.\n").parent
    (folder / "table.txt").write_text("green: 70")
    write_lock(tmp_path / "lock", measured_library([FolderSource(tmp_path / "lib")]))
    options = {"mode": "bm25", "recheck": "manual", "lock": tmp_path / "lock", "frozen": True}
    with SkillCue(tmp_path / "lib", **options) as cue:
        async with Client(skill_server(cue)) as client:
            read = await client.read_resource("skill://tea/table.txt")
            assert read.contents[0].text == "green: 70"
            (folder / "table.txt").write_text("green: 99")
            with pytest.raises(MCPError):
                await client.read_resource("skill://tea/table.txt")
            for uri in (
                "skill://tea",
                "skill://tea/SKILL.md",
            ):  # as the tools: all of it or nothing
                with pytest.raises(MCPError):
                    await client.read_resource(uri)
            answer = await client.call_tool("skill_load", {"name": "tea", "file": "table.txt"})
            assert "frozen and has changed" in text_of(answer)
            (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "Use wine.\n")
            with pytest.raises(MCPError):
                await client.read_resource("skill://tea/SKILL.md")
