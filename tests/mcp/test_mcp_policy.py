"""Who may see what over MCP: only what the application says counts, and it holds everywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import write_skill
from mcp import Client, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from support.mcp_clients import text_of
from support.policies import Policy

from skillcue import SkillCue
from skillcue.mcp import skill_server

SECRET = "merger-plan"


@pytest.fixture
def policy() -> Policy:
    return Policy()


@pytest.fixture
def guarded(tmp_path, policy):
    write_skill(tmp_path, SECRET, "Plan the merger of companies.", "Project Falcon.\n")
    write_skill(tmp_path, "tea", "Brew tea, not companies.", "Use water.\n")
    with SkillCue(tmp_path, mode="bm25", plugins=[policy]) as cue:
        yield cue


def hide(request: Any) -> dict[str, Any]:
    return {"hide": [SECRET]}


async def everything(client: Client) -> str:
    """All that a client can get to know, as one text."""
    said = []
    for tool, arguments in [
        ("skill_lookup", {"query": "plan the merger of companies", "k": 20}),
        ("skill_list", {}),
        ("skill_load", {"name": SECRET}),
        ("skill_load", {"name": f"{SECRET}@{SECRET}"}),
        ("skill_load", {"name": "merger"}),
    ]:
        answer = await client.call_tool(tool, arguments)
        said.append(f"{text_of(answer)} {answer.structured_content}".replace(f"{arguments}", ""))
    said.append(str((await client.list_resources()).resources))
    said.append(str((await client.list_resource_templates()).resource_templates))
    return "\n".join(said)


def echoed(text: str) -> str:
    """Without the name that the client itself has sent, which an error repeats."""
    return text.replace(f"'{SECRET}'", "").replace(f"'{SECRET}@{SECRET}'", "")


async def test_a_hidden_skill_is_in_no_answer(guarded):
    async with Client(skill_server(guarded, run_context=hide)) as client:
        said = echoed(await everything(client))
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"skill://{SECRET}/SKILL.md")
        with pytest.raises(MCPError) as unknown:
            await client.read_resource("skill://nothing/SKILL.md")
    assert "tea" in said
    assert SECRET not in said
    assert "Falcon" not in said
    assert caught.value.error.code == unknown.value.error.code == INVALID_PARAMS
    assert str(caught.value).replace(SECRET, "nothing") == str(unknown.value)


async def test_the_same_client_sees_it_when_the_policy_allows_it(guarded):
    async with Client(skill_server(guarded)) as client:
        said = await everything(client)
        read = await client.read_resource(f"skill://{SECRET}/SKILL.md")
    assert SECRET in said
    assert "Falcon" in said
    assert "Falcon" in read.contents[0].text


async def test_the_extension_keeps_to_the_policy(guarded):
    fastmcp = pytest.importorskip("fastmcp")
    from fastmcp.skills.client import SkillsClientExtension

    server = skill_server(guarded, run_context=hide)
    async with fastmcp.Client(server, extensions=[SkillsClientExtension()]) as client:
        assert [entry.uri for entry in await client.list_skills()] == ["skill://tea/SKILL.md"]
        with pytest.raises(MCPError, match="Nothing is served"):
            await client.get_skill(f"skill://{SECRET}/SKILL.md")


async def test_nothing_that_a_client_sends_is_taken_for_who_it_is(guarded, policy):
    claims = {"hide": [], "user": "admin", "team": "board", "skillcue/run_context": {"a": 1}}
    async with Client(skill_server(guarded)) as client:
        await client.call_tool("skill_lookup", {"query": "tea"}, meta=claims)
        await client.call_tool("skill_load", {"name": "tea", "run_context": claims}, meta=claims)
        await client.read_resource("skill://tea/SKILL.md")
    assert policy.contexts
    assert all(context == {} for context in policy.contexts)


async def test_run_context_is_given_the_request_and_may_be_async(guarded, policy):
    async def team(request: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"method": request.method, "hide": [SECRET]}

    async with Client(skill_server(guarded, run_context=team)) as client:
        await client.call_tool("skill_list")
        await client.list_resources()
        await client.read_resource("skill://tea/SKILL.md")
    seen = {context["method"] for context in policy.contexts}
    assert seen == {"tools/call", "resources/list", "resources/read"}


async def test_two_tenants_of_one_server_do_not_see_each_others_answers(guarded):
    hidden: list[str] = []
    async with Client(skill_server(guarded, run_context=lambda _: {"hide": hidden})) as client:
        for hidden in ([], [SECRET]) * 3:  # whatever is cached by now
            query = {"query": "plan the merger of companies"}
            found = text_of(await client.call_tool("skill_lookup", query))
            listed = str((await client.list_resources()).resources)
            assert (SECRET in found, SECRET in listed) == (not hidden, not hidden)


@pytest.mark.parametrize("wrong", [lambda request: 1 / 0, lambda request: "admin"])
async def test_when_it_is_not_known_who_asks_nothing_is_shown(guarded, wrong, caplog):
    async with Client(skill_server(guarded, run_context=wrong)) as client:
        for tool, arguments in [
            ("skill_lookup", {"query": "tea"}),
            ("skill_load", {"name": "tea"}),
            ("skill_list", {}),
        ]:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error is True
            assert text_of(answer) == "Error: It is not known who is asking. Tell the operator."
        for call in (client.list_resources(), client.read_resource("skill://tea/SKILL.md")):
            with pytest.raises(MCPError, match="not known who is asking") as caught:
                await call
            assert caught.value.error.code == INTERNAL_ERROR
    assert "run_context" in caplog.text


async def test_a_policy_that_fails_hides_everything(guarded, policy):
    policy.error = lambda skill: RuntimeError("no database")
    async with Client(skill_server(guarded)) as client:
        assert "holds no skill" in text_of(await client.call_tool("skill_list"))
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource("skill://tea/SKILL.md")


async def test_files_of_a_hidden_skill_inside_another_are_hidden(tmp_path):
    outer = write_skill(tmp_path / "lib", "outer", "The outer skill.").parent
    write_skill(outer, "inner", "The inner skill.", "Project Falcon.\n")
    sources = [tmp_path / "lib", outer / "inner"]
    with SkillCue(sources, mode="bm25", plugins=[Policy("inner")]) as cue:
        async with Client(skill_server(cue)) as client:
            (only,) = (await client.list_resources()).resources
            assert str(only.uri) == "skill://outer/SKILL.md"
            with pytest.raises(MCPError):
                await client.read_resource("skill://outer/inner/SKILL.md")
    with SkillCue(sources, mode="bm25") as cue:
        async with Client(skill_server(cue)) as client:
            read = await client.read_resource("skill://outer/inner/SKILL.md")
    assert "Falcon" in read.contents[0].text


async def under_the_extension(cue: SkillCue, **options: Any) -> dict[str, str]:
    """All that the methods of resources and of the extension tell, by what was asked."""
    import mcp_types

    from skillcue.mcp_wire import DirectoryParams, GetSkillParams

    class Anything(mcp_types.Result, extra="allow"):
        pass

    class Children(mcp_types.Request[DirectoryParams, str]):
        method: str = "resources/directory/read"
        params: DirectoryParams

    class Get(mcp_types.Request[GetSkillParams, str]):
        method: str = "skills/get"
        params: GetSkillParams

    roots = ["outer", "outer/inner", "inner", SECRET, "none"]
    folders = [f"skill://{root}{below}" for root in roots for below in ("", "/scripts")]

    class Listed(mcp_types.Request[None, str]):
        method: str = "skills/list"
        params: None = None

    told: dict[str, str] = {}
    async with Client(skill_server(cue, **options)) as client:
        session = client.session

        async def tell(what: str, request: Any) -> None:
            try:
                told[what] = (await request).model_dump_json()
            except MCPError as error:
                told[what] = f"{error.error.code} {error}".replace(what.split()[-1], "")

        for uri in folders:
            children = Children(params=DirectoryParams(uri=uri))
            await tell(f"folder {uri}", session.send_request(children, Anything))
        for uri in (f"{folder}/{name}" for folder in folders for name in ("SKILL.md", "run.py")):
            await tell(
                f"get {uri}", session.send_request(Get(params=GetSkillParams(uri=uri)), Anything)
            )
            await tell(f"read {uri}", client.read_resource(uri))
        await tell("list", client.list_resources())
        await tell("skills", session.send_request(Listed(params=None), Anything))
    return told


@pytest.mark.parametrize("hides", ["policy", "run_context"])
async def test_the_extension_tells_of_a_hidden_skill_what_it_tells_of_none(tmp_path, hides):
    """Its folder, also where it lies in another skill's, is as if it were not there."""
    outer = write_skill(tmp_path / "lib", "outer", "The outer skill.").parent
    sources = [tmp_path / "lib", outer / "inner", tmp_path / "more"]
    (tmp_path / "more").mkdir()
    with SkillCue(tmp_path / "lib", mode="bm25") as cue:
        without = await under_the_extension(cue)
    for folder, name in ((outer, "inner"), (tmp_path / "more", SECRET)):
        scripts = write_skill(folder, name, "Not for all.", "Falcon.\n").parent / "scripts"
        scripts.mkdir()
        (scripts / "run.py").write_text("print('Falcon')\n", "utf-8")
    names = ["inner", SECRET]
    policy = Policy(*(names if hides == "policy" else ()))
    with SkillCue(sources, mode="bm25", plugins=[policy]) as cue:
        first = await under_the_extension(cue, run_context=lambda request: {"hide": names})
        assert first == without
        if hides == "run_context":
            seen = await under_the_extension(cue, run_context=lambda request: {"hide": []})
            served = ["folder {}", "folder {}/scripts", "get {}/SKILL.md", "read {}/SKILL.md"]
            served += ["read {}/scripts/run.py"]
            assert {what for what in seen if seen[what] != without[what]} == {
                *(each.format(f"skill://{name}") for each in served for name in names),
                "list",
                "skills",
            }
            again = await under_the_extension(cue, run_context=lambda request: {"hide": names})
            assert again == without


async def test_addresses_under_older_answers_of_a_policy_are_not_served(guarded, policy):
    """A key that says the same of other answers: by the contract it must not, and nothing leaks."""
    policy.key = "constant"
    uri = f"skill://{SECRET}/SKILL.md"
    async with Client(skill_server(guarded)) as client:
        assert (await client.read_resource(uri)).contents
        policy.hidden.add(SECRET)
        for number in range(40):  # the first answers are forgotten, and the policy is asked again
            policy.key = f"other {number}"
            guarded.list()
        policy.key = "constant"
        assert SECRET not in str((await client.list_resources()).resources)
        with pytest.raises(MCPError, match="Nothing is served"):
            await client.read_resource(uri)
