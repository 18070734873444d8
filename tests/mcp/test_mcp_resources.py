"""Skills as resources: the Skills extension, seen by the clients of the SDK and of FastMCP."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import write_skill
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS

from skillcue import FolderSource, SkillCue, StaticSource
from skillcue.mcp import skill_server
from skillcue.mcp_catalog import SkillCatalog, UnknownUriError
from skillcue_hooks import Skill

fastmcp = pytest.importorskip("fastmcp")

EXTENSION = "io.modelcontextprotocol/skills"
PDF = "skill://office/pdf-form-filling"


def skills_client(cue: SkillCue, **options: Any) -> Any:
    """FastMCP's client, which checks every entry against its models of the extension."""
    from fastmcp.skills.client import SkillsClientExtension

    return fastmcp.Client(skill_server(cue, **options), extensions=[SkillsClientExtension()])


def library(folder: Path, **options: Any) -> SkillCue:
    return SkillCue(folder, mode="bm25", recheck="always", **options)


async def listed(cue: SkillCue) -> list[str]:
    async with skills_client(cue) as client:
        return [entry.uri for entry in await client.list_skills()]


async def read_bytes(cue: SkillCue, uri: str) -> bytes:
    async with skills_client(cue) as client:
        return bytes(await client._read_skill_file(uri))


async def refused(cue: SkillCue, uri: str) -> MCPError:
    async with Client(skill_server(cue)) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.error.code == INVALID_PARAMS
    return caught.value


# the extension


async def test_the_extension_is_declared_with_reading_of_folders(cue):
    async with Client(skill_server(cue)) as client:
        assert client.server_capabilities.extensions == {EXTENSION: {"directoryRead": True}}
        assert client.server_capabilities.resources is not None


async def test_every_example_skill_is_published_and_every_file_verified(cue):
    async with skills_client(cue) as client:
        entries = await client.list_skills()
        assert len(entries) == len(cue.list())
        for entry in entries:
            skill = await client.read_skill(entry.uri)  # digests, sizes, front matter, name
            folder = cue.load(skill.name).base_dir
            assert skill.files["SKILL.md"] == (folder / "SKILL.md").read_bytes()


async def test_an_entry_holds_the_front_matter_verbatim_and_every_file(cue, example_skills):
    async with skills_client(cue) as client:
        entry = await client.get_skill(f"{PDF}/SKILL.md")
    folder = example_skills / "office" / "pdf-form-filling"
    on_disk = sorted(p for p in folder.rglob("*") if p.is_file())
    assert {r.uri: (r.digest, r.size) for r in entry.resources} == {
        f"{PDF}/{p.relative_to(folder).as_posix()}": (
            f"sha256:{hashlib.sha256(p.read_bytes()).hexdigest()}",
            p.stat().st_size,
        )
        for p in on_disk
    }
    assert len(on_disk) > 1
    assert entry.frontmatter.root["allowed-tools"]
    assert entry.meta == {"skillcue/trust": "trusted"}


async def test_results_are_never_fresh_and_never_shared(cue):
    async with skills_client(cue) as client:
        page = await client.list_skills_mcp()
        one = await client.get_skill_mcp(page.skills[0].uri)
    for result in (page, one):
        assert (result.ttl_ms, result.cache_scope, result.result_type) == (0, "private", "complete")


async def test_lists_come_in_pages_in_both_methods(tmp_path):
    for number in range(120):
        write_skill(tmp_path, f"skill-{number:03}", f"Number {number}.")
    with library(tmp_path) as cue:
        async with skills_client(cue) as client:
            first = await client.list_skills_mcp()
            every = await client.list_skills()
        async with Client(skill_server(cue)) as plain:
            uris, cursor = [], None
            while True:
                page = await plain.list_resources(cursor=cursor)
                uris += [str(resource.uri) for resource in page.resources]
                cursor = page.next_cursor
                if cursor is None:
                    break
    assert len(first.skills) == 50
    assert [entry.uri for entry in every] == uris
    assert len(uris) == len(set(uris)) == 120


@pytest.mark.parametrize("cursor", ["nonsense", "!!", "c2tpbGw=", "\udc00"[:0] + "ÿ"])
async def test_a_cursor_that_is_none_of_ours_is_an_error(cue, cursor):
    async with skills_client(cue) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_skills_mcp(cursor=cursor)
    assert caught.value.error.code == INVALID_PARAMS


async def test_skills_are_ordinary_resources_to_other_clients(cue):
    async with Client(skill_server(cue), mode="legacy") as client:
        resources = (await client.list_resources()).resources
        (pdf,) = (r for r in resources if str(r.uri) == f"{PDF}/SKILL.md")
        read = await client.read_resource(f"{PDF}/SKILL.md")
    assert (pdf.name, pdf.mime_type) == ("pdf-form-filling", "text/markdown")
    assert pdf.description.startswith("Fill")
    assert read.contents[0].text.startswith("---\nname: pdf-form-filling\n")


async def test_folders_can_be_read(cue):
    assert await children(cue, PDF) == [
        (f"{PDF}/SKILL.md", "SKILL.md", "text/markdown"),
        (f"{PDF}/scripts", "scripts", "inode/directory"),
    ]
    assert await children(cue, f"{PDF}/scripts") == [
        (f"{PDF}/scripts/fill_form.py", "fill_form.py", "text/x-python")
    ]


async def children(cue: SkillCue, uri: str) -> list[tuple[str, str, str]] | None:
    """URI, name and type of what lies in a folder; None where it is refused."""
    import mcp_types

    from skillcue.mcp_wire import DirectoryParams, DirectoryResult

    class Request(mcp_types.Request[DirectoryParams, str]):
        method: str = "resources/directory/read"
        params: DirectoryParams

    request = Request(params=DirectoryParams(uri=uri))
    async with Client(skill_server(cue)) as client:
        try:
            result = await client.session.send_request(request, DirectoryResult)
        except MCPError as error:
            assert error.error.code == INVALID_PARAMS
            return None
    return [(r.uri, r.name, r.mime_type) for r in result.resources]


@pytest.mark.parametrize(
    "uri", [f"{PDF}/SKILL.md", "skill://office", "skill://office/none", "file:///etc", PDF + "/"]
)
async def test_what_is_no_folder_of_a_skill_is_an_error(cue, uri):
    assert await children(cue, uri) is None


# reading


async def test_bytes_are_those_of_the_file(tmp_path):
    folder = write_skill(tmp_path, "kit", "A kit.").parent
    files = {
        "logo.png": b"\x89PNG\r\n\x1a\n\x00\xff",
        "notes.txt": "\ufeffz\u00e4hne\r\n".encode(),
        "table.csv": b"a,b\r\n1,2\r\n",
        "old.txt": "z\u00e4hne".encode("latin-1"),
        "nul.txt": b"a\x00b",
        "a b/%41 ?#.md": b"odd name",
        "empty.json": b"",
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    with library(tmp_path) as cue:
        async with skills_client(cue) as client:
            skill = await client.read_skill("skill://kit/SKILL.md")
        async with Client(skill_server(cue)) as client:
            kinds = {
                name: (await client.read_resource(f"skill://kit/{name}")).contents[0]
                for name in ("logo.png", "notes.txt", "table.csv", "old.txt")
            }
    assert {name: skill.files[name] for name in files} == files
    assert kinds["logo.png"].mime_type == "image/png"
    assert hasattr(kinds["logo.png"], "blob")
    assert hasattr(kinds["old.txt"], "blob")  # as text it would not be the same bytes
    assert kinds["notes.txt"].text == "\ufeffz\u00e4hne\r\n"
    assert kinds["table.csv"].mime_type == "text/csv"


async def test_edits_are_seen_by_the_next_request(tmp_path):
    path = write_skill(tmp_path, "tea", "Brew tea.")
    with library(tmp_path) as cue:
        async with skills_client(cue) as client:
            before = await client.get_skill("skill://tea/SKILL.md")
            path.write_text(path.read_text() + "\nRinse the pot.\n")
            (path.parent / "times.md").write_text("3 minutes")
            write_skill(tmp_path, "coffee", "Brew coffee.")
            after = await client.get_skill("skill://tea/SKILL.md")
            uris = [entry.uri for entry in await client.list_skills()]
            await client.read_skill("skill://tea/SKILL.md")
            path.unlink()
            with pytest.raises(MCPError):
                await client.get_skill("skill://tea/SKILL.md")
    assert uris == ["skill://coffee/SKILL.md", "skill://tea/SKILL.md"]
    assert before.resources[0].digest != after.resources[0].digest
    assert [r.uri for r in after.resources] == ["skill://tea/SKILL.md", "skill://tea/times.md"]


@pytest.mark.parametrize(
    "uri",
    [
        "skill://kit/../secret.txt",
        "skill://kit/%2e%2e/secret.txt",
        "skill://kit/..%2fsecret.txt",
        "skill://kit/..%5csecret.txt",
        "skill://kit//SKILL.md",
        "skill://kit/./SKILL.md",
        "skill://kit/SKILL.md%00",
        "skill://kit/SKILL.md?x=1",
        "skill://kit/SKILL.md#x",
        "skill://kit/SKILL",
        "skill://kit/skill.md",
        "skill://kit/.hidden",
        "skill://kit/.git/config",
        "skill://kit/link.txt",
        "skill://kit/linked/secret.txt",
        "skill://kit",
        "skill://",
        "skill:///etc/passwd",
        "skill://%2Fetc/passwd",
        "skill://none/SKILL.md",
        "file:///etc/passwd",
        "skill://kit/" + "a/" * 5_000 + "SKILL.md",
    ],
)
async def test_nothing_but_files_of_skills_is_served(tmp_path, uri):
    skills = tmp_path / "skills"
    folder = write_skill(skills, "kit", "A kit.").parent
    (tmp_path / "secret.txt").write_text("secret")
    (skills / "secret.txt").write_text("secret")
    (folder / ".hidden").write_text("secret")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    with library(skills) as cue:
        error = await refused(cue, uri)
        assert "secret" not in str(error).replace("secret.txt", "")
        assert len(str(error)) < 400
        async with skills_client(cue) as client:
            (entry,) = await client.list_skills()
    assert [resource.uri for resource in entry.resources] == ["skill://kit/SKILL.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_pipe_is_no_file(tmp_path):
    folder = write_skill(tmp_path, "kit", "A kit.").parent
    os.mkfifo(folder / "pipe.txt")
    with library(tmp_path) as cue:
        await refused(cue, "skill://kit/pipe.txt")


async def test_an_error_names_no_path_of_the_machine(tmp_path):
    write_skill(tmp_path, "kit", "A kit.")
    with library(tmp_path) as cue:
        assert str(tmp_path) not in str(await refused(cue, "skill://kit/none.md"))


# what is published


NOT_PUBLISHED = {
    "upper case": "---\nname: Big-Kit\ndescription: A kit.\n---\n",
    "no name": "---\ndescription: A kit.\n---\n",
    "no description": "---\nname: kit\n---\n\nSome text.\n",
    "long description": f"---\nname: kit\ndescription: {'x' * 1_025}\n---\n",
    "no front matter": "# Kit\n\nA kit.\n",
    "an alias": "---\nname: kit\ndescription: &d A kit.\nmore: *d\n---\n",
    "a tag": "---\nname: kit\ndescription: A kit.\nmore: !!python/name:os.system\n---\n",
    "a key twice": "---\nname: kit\ndescription: A kit.\ndescription: Another.\n---\n",
    "not a number": "---\nname: kit\ndescription: A kit.\nmore: .nan\n---\n",
    "a key that is no text": "---\nname: kit\ndescription: A kit.\nmore: {1: 2}\n---\n",
    "license is a list": "---\nname: kit\ndescription: A kit.\nlicense: [MIT]\n---\n",
    "tools are a map": "---\nname: kit\ndescription: A kit.\nallowed-tools: {a: b}\n---\n",
    "tools are numbers": "---\nname: kit\ndescription: A kit.\nallowed-tools: [1]\n---\n",
    "long compatibility": f"---\nname: kit\ndescription: A.\ncompatibility: {'x' * 501}\n---\n",
    "empty compatibility": "---\nname: kit\ndescription: A.\ncompatibility: ''\n---\n",
    "metadata is text": "---\nname: kit\ndescription: A kit.\nmetadata: text\n---\n",
    "deep": f"---\nname: kit\ndescription: A kit.\nmore: {'[' * 200}{']' * 200}\n---\n",
    "two hyphens": "---\nname: kit--kit\ndescription: A kit.\n---\n",
}


@pytest.mark.parametrize("text", NOT_PUBLISHED.values(), ids=NOT_PUBLISHED)
async def test_a_skill_against_the_specification_is_left_to_the_tools(tmp_path, text, caplog):
    write_skill(tmp_path, "good", "A good one.")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "SKILL.md").write_text(text)
    with library(tmp_path) as cue, caplog.at_level(logging.INFO, "skillcue.mcp"):
        assert await listed(cue) == ["skill://good/SKILL.md"]
        others = [skill for skill in cue.list() if skill.name != "good"]
        for skill in others:
            assert skill.id in caplog.text
            await refused(cue, f"skill://kit/{skill.name}/SKILL.md")
            assert not cue.tools().load(skill.id).error


GOOD = {
    "a date": ("created: 2026-01-02", "2026-01-02"),
    "a number": ("created: 1.10", 1.1),
    "a truth": ("created: on", True),
    "nothing": ("created:", None),
    "a map": ("created: {a: [1, x]}", {"a": [1, "x"]}),
}


@pytest.mark.parametrize(("line", "value"), GOOD.values(), ids=GOOD)
async def test_front_matter_keeps_the_types_of_yaml(tmp_path, line, value):
    path = tmp_path / "kit" / "SKILL.md"
    path.parent.mkdir()
    path.write_bytes(f"\ufeff---\r\nname: kit\r\ndescription: A.\r\n{line}\r\n---\r\nx".encode())
    with library(tmp_path) as cue:
        async with skills_client(cue) as client:
            (entry,) = await client.list_skills()
    assert entry.frontmatter.root == {"name": "kit", "description": "A.", "created": value}
    assert type(entry.frontmatter.root["created"]) is type(value)


async def test_skills_over_the_limits_of_the_extension_are_not_published(tmp_path):
    many = write_skill(tmp_path, "many", "Too many files.").parent
    for number in range(512):
        (many / f"{number}.txt").write_text("x")
    large = write_skill(tmp_path, "large", "Too large.").parent
    for number in range(5):
        (large / f"{number}.bin").write_bytes(bytes(4 * 1024 * 1024))
    (write_skill(tmp_path, "fits", "It fits.").parent / "5.bin").write_bytes(bytes(5_000_000))
    with library(tmp_path) as cue:
        assert await listed(cue) == ["skill://fits/SKILL.md"]
        (many / "0.txt").unlink()
        (large / "0.bin").unlink()
        (large / "1.bin").write_bytes(b"")
        assert len(await listed(cue)) == 3


async def test_names_and_folders_decide_the_address(tmp_path):
    write_skill(tmp_path / "one" / "office tools", "kit", "Kit of the office.")
    path = write_skill(tmp_path / "one", "folder", "Other name.")
    path.write_text(path.read_text().replace("name: folder", "name: renamed"))
    write_skill(tmp_path, "two", "A folder that is a skill.")
    with SkillCue([tmp_path / "one", tmp_path / "two"], mode="bm25") as cue:
        assert await listed(cue) == [
            "skill://folder/renamed/SKILL.md",
            "skill://office%20tools/kit/SKILL.md",
            "skill://two/SKILL.md",
        ]
        assert (await read_bytes(cue, "skill://office%20tools/kit/SKILL.md")).startswith(b"---")


async def test_of_two_skills_at_one_address_the_first_in_precedence_is_served(tmp_path):
    write_skill(tmp_path / "one", "kit", "The first.")
    write_skill(tmp_path / "two", "kit", "The second.")
    with SkillCue([tmp_path / "one", tmp_path / "two"], mode="bm25") as cue:
        uris = await listed(cue)
        assert len(uris) == len(set(uris)) == 2
        texts = [(await read_bytes(cue, uri)).decode() for uri in uris]
    assert sorted("first" in text for text in texts) == [False, True]


async def test_skills_for_users_only_are_not_listed_and_can_be_read(tmp_path):
    path = write_skill(tmp_path, "deploy", "Deploy it.")
    path.write_text(path.read_text().replace("---\n\n", "disable-model-invocation: true\n---\n\n"))
    write_skill(tmp_path, "tea", "Brew tea.")
    with library(tmp_path) as cue:
        assert await listed(cue) == ["skill://tea/SKILL.md"]
        async with skills_client(cue) as client:
            assert (await client.read_skill("skill://deploy/SKILL.md")).name == "deploy"


async def test_skills_in_memory_have_one_file(tmp_path):
    skill = Skill("", "kit", 'A "kit": <b>\u00e4</b>', body="# Kit\n\n1. Do it.\n")
    source = StaticSource("memory", [skill], trust="untrusted")
    with SkillCue(source, mode="bm25") as cue:
        async with skills_client(cue) as client:
            (entry,) = await client.list_skills()
            read = await client.read_skill(entry.uri)
    assert entry.meta == {"skillcue/trust": "untrusted"}
    assert read.files["SKILL.md"].decode().endswith("---\n\n# Kit\n\n1. Do it.\n")


async def test_one_source_that_fails_hides_only_its_own(tmp_path):
    class Broken(StaticSource):
        def read_body(self, skill: Skill) -> str:
            raise RuntimeError("the database is down")

    write_skill(tmp_path, "tea", "Brew tea.")
    broken = Broken("db", [Skill("", "kit", "A kit.", body="x")])
    with SkillCue([broken, tmp_path], mode="bm25") as cue:
        assert await listed(cue) == ["skill://tea/SKILL.md"]
        error = await refused(cue, "skill://kit/SKILL.md")
    assert "database" not in str(error)


async def test_a_linked_skill_file_is_read_where_the_library_reads_it(tmp_path):
    source = tmp_path / "skills"
    real = write_skill(source / "shared", "tea", "Brew tea.")
    (source / "mine" / "chai").mkdir(parents=True)
    text = real.read_text().replace("name: tea", "name: chai")
    (source / "shared" / "chai.md").write_text(text)
    (source / "mine" / "chai" / "SKILL.md").symlink_to(source / "shared" / "chai.md")
    with SkillCue(FolderSource(source), mode="bm25") as cue:
        assert await read_bytes(cue, "skill://mine/chai/SKILL.md") == text.encode()


async def test_a_listing_is_the_same_bytes_every_time(cue):
    async def once() -> str:
        async with skills_client(cue) as client:
            entries = await client.list_skills()
        return json.dumps([entry.model_dump(mode="json") for entry in entries])

    assert await once() == await once()


PIECES = ["skill://", "kit", "/", "//", "..", ".", "%2e%2e", "%2F", "%5C", "\\", "%00", "?", "#", "~",
          "SKILL.md", "notes.md", "secret.txt", "link.txt", "linked", "file://", "%", "%zz", "\u00e9"]  # fmt: skip


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """A skill with two files, beside a secret, and links to it."""
    root = tmp_path_factory.mktemp("catalog")
    folder = write_skill(root / "skills", "kit", "A kit.").parent
    (folder / "notes.md").write_text("Notes.")
    for place in (root, root / "skills"):
        (place / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(root / "secret.txt")
    (folder / "linked").symlink_to(root)
    with SkillCue(root / "skills", mode="bm25", recheck="manual") as cue:
        yield SkillCatalog(cue)


@given(st.lists(st.sampled_from(PIECES), max_size=10), st.booleans())
def test_whatever_the_uri_only_files_of_the_skill_are_read(catalog, pieces, whole):
    uri = f"skill://kit/{''.join(pieces)}" if whole else "".join(pieces)
    try:
        found = catalog.read(uri, {})
    except UnknownUriError:
        return
    assert uri in ("skill://kit/SKILL.md", "skill://kit/notes.md")
    assert b"secret" not in found.data
