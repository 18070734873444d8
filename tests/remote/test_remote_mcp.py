"""Skills from MCP servers: fastmcp with its Skills extension, and servers that lie."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.remote import MCP_SERVER, RAW_SERVER, HttpServer, skill_text, write_skill_at

from skillcue import SkillCue
from skillcue_hooks.errors import ConfigurationError

pytest.importorskip("mcp")

from skillcue.remote import FetchLimits, McpSource

LIMITS = FetchLimits(seconds=60)


def codes(cue: SkillCue) -> list[str]:
    return [item.code for item in cue.diagnostics]


def described(cue: SkillCue) -> dict[str, str]:
    return {skill.name: skill.description for skill in cue.list()}


# fastmcp


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    write_skill_at(folder / "ops", "alpha")
    (folder / "ops" / "alpha" / "logo.bin").write_bytes(bytes(range(256)))
    write_skill_at(folder, "beta")
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Path:
    pytest.importorskip("fastmcp")
    path = tmp_path / "server.py"
    path.write_text(MCP_SERVER, "utf-8")
    return path


def test_a_command_with_the_extension(skills, script):
    source = McpSource(command=[sys.executable, str(script), str(skills)], label="team")
    cue = SkillCue(source)
    local = SkillCue(skills)
    assert [(s.id, s.content_hash) for s in cue.list()] == [
        (s.id, s.content_hash) for s in local.list()
    ]
    assert {(s.source, s.trust) for s in cue.list()} == {("team", "untrusted")}
    assert cue.load("alpha", "references/notes.txt").text == "Notes of alpha."
    folder = cue.load("alpha").base_dir
    assert folder is not None
    assert (folder / "logo.bin").read_bytes() == bytes(range(256))
    assert cue.diagnostics == () and source.digest.startswith("sha256:")
    write_skill_at(skills, "beta", "Later.")
    assert source.update() is True
    cue.refresh()
    assert described(cue)["beta"] == "Later."


def test_a_server_that_dies_and_comes_back(skills, script, tmp_path):
    server = HttpServer(script, skills)
    mine = write_skill_at(tmp_path / "mine", "gamma").parent
    cue = SkillCue([mine, f"mcp+{server.url}"], cache=tmp_path / "cache", recheck="always")
    source = cue.sources[1]
    assert isinstance(source, McpSource)
    assert (set(described(cue)), codes(cue)) == ({"gamma"}, ["source-unreachable"])
    assert "Start the server" in cue.diagnostics[0].message
    server.start()
    try:
        source.update()
        assert (set(described(cue)), codes(cue)) == ({"alpha", "beta", "gamma"}, [])
        digest = source.digest
        server.kill()
        source.update()
        assert set(described(cue)) == {"alpha", "beta", "gamma"}
        assert codes(cue) == ["source-unreachable"] and source.digest == digest
        write_skill_at(skills, "beta", "Later.")
        server.start()
        source.update()
        assert (described(cue)["beta"], codes(cue)) == ("Later.", [])
    finally:
        server.kill()
    again = SkillCue([f"mcp+{server.url}"], cache=tmp_path / "cache")
    assert described(again)["beta"] == "Later."  # kept on disk


async def test_inside_a_running_event_loop(skills, script):
    command = [sys.executable, str(script), str(skills)]
    cue = SkillCue(McpSource(command=command))
    assert set(described(cue)) == {"alpha", "beta"}
    await asyncio.sleep(0)


# servers that lie


class RawServer:
    """Answers from a file, over standard input and output.

    Args:
        folder: For its files.
        extension: It declares the Skills extension.
    """

    def __init__(self, folder: Path, extension: bool = True) -> None:
        self._script = folder / "raw.py"
        self._script.write_text(RAW_SERVER, "utf-8")
        self._answers = folder / "answers.json"
        extensions = {"io.modelcontextprotocol/skills": {}} if extension else {}
        self.says: dict[str, Any] = {
            "server/discover": {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"resources": {}, "extensions": extensions},
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            }
        }

    def reads(self, uri: str, content: str | bytes) -> dict[str, Any]:
        """Serve one resource; gives its line in a list of resources."""
        data = content.encode() if isinstance(content, str) else content
        part = (
            {"uri": uri, "text": content}
            if isinstance(content, str)
            else {"uri": uri, "blob": base64.b64encode(data).decode()}
        )
        self.says[f"resources/read {uri}"] = page(contents=[part])
        digest = hashlib.sha256(data).hexdigest()
        return {"uri": uri, "digest": f"sha256:{digest}", "size": len(data)}

    def skill(self, name: str, **files: str) -> dict[str, Any]:
        """Serve one skill; gives its entry."""
        base = f"skill://{name}/"
        listed = [self.reads(f"{base}SKILL.md", skill_text(name.rpartition("/")[2]))]
        listed += [self.reads(f"{base}{path}", text) for path, text in files.items()]
        head = {"name": name, "description": "Does it."}
        return {"uri": f"{base}SKILL.md", "frontmatter": head, "resources": listed}

    def lists(self, *entries: Any) -> None:
        self.says["skills/list"] = page(skills=list(entries))

    def source(self, **options: Any) -> McpSource:
        self._answers.write_text(json.dumps(self.says), "utf-8")
        command = [sys.executable, str(self._script), str(self._answers)]
        return McpSource(command=command, label="raw", **{"fetch_limits": LIMITS, **options})

    @property
    def asked(self) -> list[str]:
        """What it was asked so far."""
        return Path(f"{self._answers}.log").read_text("utf-8").splitlines()


def page(**fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **fields}


@pytest.fixture
def raw(tmp_path: Path) -> RawServer:
    return RawServer(tmp_path)


def test_pages_are_followed(raw):
    raw.says["skills/list"] = page(skills=[raw.skill("alpha")], nextCursor="2")
    raw.says["skills/list 2"] = page(skills=[raw.skill("beta")])
    assert set(described(SkillCue(raw.source()))) == {"alpha", "beta"}


def test_pages_that_never_end(raw):
    entries = [raw.skill("alpha")] * 300
    raw.says["skills/list"] = page(skills=entries, nextCursor="a")
    raw.says["skills/list a"] = page(skills=entries, nextCursor="b")
    raw.says["skills/list b"] = page(skills=entries, nextCursor="a")
    cue = SkillCue(raw.source(fetch_limits=FetchLimits(files=1000, seconds=60)))
    assert codes(cue) == ["source-refused"] and "limit files" in cue.diagnostics[0].message


def test_a_file_that_is_not_as_listed_costs_its_skill_only(raw):
    changed, short, good = (
        raw.skill("changed", **{"a.txt": "x"}),
        raw.skill("short"),
        raw.skill("good"),
    )
    raw.reads("skill://changed/a.txt", "y")
    raw.reads("skill://short/SKILL.md", skill_text("short") + "more")
    raw.lists(changed, short, good)
    cue = SkillCue(raw.source())
    assert set(described(cue)) == {"good"}
    assert codes(cue) == ["source-part-left-out"] * 2
    messages = " ".join(item.message for item in cue.diagnostics)
    assert "whose digest is listed" in messages and "as listed" in messages


def test_only_what_changed_is_read_again(raw, tmp_path):
    raw.lists(raw.skill("alpha", **{"a.txt": "x"}), raw.skill("beta"))
    source = raw.source()
    cue = SkillCue(source)
    assert set(described(cue)) == {"alpha", "beta"}
    assert len([key for key in raw.asked if key.startswith("resources/read")]) == 3
    assert source.update() is False
    assert len([key for key in raw.asked if key.startswith("resources/read")]) == 3
    entry = raw.skill("alpha", **{"a.txt": "changed"})
    raw.lists(entry, raw.skill("beta"))
    raw.source()
    assert source.update() is True
    assert raw.asked.count("resources/read skill://alpha/a.txt") == 2
    assert raw.asked.count("resources/read skill://beta/SKILL.md") == 1
    cue.refresh()
    assert cue.load("alpha", "a.txt").text == "changed"


def test_dynamic_files_are_not_taken(raw):
    entry = raw.skill("alpha", **{"a.txt": "x"})
    raw.lists({**entry, "resources": "dynamic"})
    cue = SkillCue(raw.source())
    assert set(described(cue)) == {"alpha"} and codes(cue) == ["source-part-left-out"]
    assert cue.load("alpha").files == () and "unverified" in cue.diagnostics[0].message


def wrong(entry: dict[str, Any], **resource: Any) -> dict[str, Any]:
    return {**entry, "resources": [*entry["resources"], resource]}


def test_entries_that_reach_elsewhere_are_left_out(raw):
    digest = f"sha256:{'0' * 64}"
    alpha = raw.skill("alpha")
    only = alpha["resources"][0]
    uri = alpha["uri"]
    entries = [
        "text",
        {},
        {"uri": uri},
        {**alpha, "uri": "skill://../SKILL.md"},
        {**alpha, "uri": "skill://alpha/%2e%2e/%2e%2e/SKILL.md"},
        {**alpha, "uri": "skill://alpha/README.md"},
        {**alpha, "uri": f"{uri}?x=/SKILL.md"},
        {**alpha, "resources": []},
        {**alpha, "resources": [only, only]},
        {**alpha, "resources": [{"uri": uri}]},
        {**alpha, "resources": [{**only, "digest": "md5:0"}]},
        {**alpha, "resources": [{**only, "size": -1}]},
        {**alpha, "resources": [{**only, "size": True}]},
        {**alpha, "resources": [{**only, "size": 10**12}]},
        wrong(alpha, uri="skill://beta/x.txt", digest=digest, size=1),
        wrong(alpha, uri="file:///etc/passwd", digest=digest, size=1),
        wrong(alpha, uri="skill://alpha/../x.txt", digest=digest, size=1),
        wrong(alpha, uri="skill://alpha/..%2f..%2fx.txt", digest=digest, size=1),
        wrong(alpha, uri="skill://alpha/%00.txt", digest=digest, size=1),
        wrong(alpha, uri="skill://alpha/.git/config", digest=digest, size=1),
        wrong(alpha, uri="skill://alpha/SKILL%2Emd", digest=digest, size=1),
        raw.skill("good"),
    ]
    raw.lists(*entries)
    cue = SkillCue(raw.source())
    assert set(described(cue)) == {"good"}
    assert codes(cue) == ["source-part-left-out"] * (len(entries) - 1)
    assert [key for key in raw.asked if key.startswith("resources/read")] == [
        "resources/read skill://good/SKILL.md"
    ]


def test_without_the_extension_resources_are_taken(tmp_path):
    raw = RawServer(tmp_path, extension=False)
    raw.skill("ops/alpha", **{"notes.txt": "Notes.", "_manifest": "{}"})
    raw.skill("ops/alpha/inner")
    uris = [key.partition(" ")[2] for key in raw.says if key.startswith("resources/read")]
    uris += ["skill://..%2f..%2fx/SKILL.md", "file:///etc/passwd", "ui://alpha/SKILL.md"]
    raw.says["resources/list"] = page(resources=[{"uri": uri, "name": "x"} for uri in uris])
    cue = SkillCue(raw.source())
    assert {skill.id for skill in cue.list()} == {"alpha@ops/alpha"}
    assert cue.load("alpha", "notes.txt").text == "Notes."
    assert "_manifest" not in cue.load("alpha").files
    left_out = [d.message for d in cue.diagnostics if d.code == "source-part-left-out"]
    assert left_out == ["It holds a path that goes up."]


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ({}, "source-unreachable"),
        ({"skills/list": page(skills="none")}, "source-unreachable"),
        ({"skills/list": {"skills": [1]}}, None),
    ],
)
def test_answers_that_make_no_sense(raw, says, code):
    raw.says.update(says)
    cue = SkillCue(raw.source())
    assert cue.list() == () and cue.diagnostics[0].severity in ("error", "warning")
    if code:
        assert codes(cue) == [code]


def test_a_read_that_fails_keeps_what_was_there(raw):
    raw.lists(raw.skill("alpha"))
    source = raw.source()
    cue = SkillCue(source)
    assert described(cue) == {"alpha": "Does alpha."}
    raw.lists(raw.skill("alpha"), raw.skill("beta"))
    del raw.says["resources/read skill://beta/SKILL.md"]
    raw.source()
    source.update()
    cue.refresh()
    assert described(cue) == {"alpha": "Does alpha."} and codes(cue) == ["source-unreachable"]


def test_a_server_that_says_nothing_is_left_in_time(tmp_path):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    source = McpSource(command=command, fetch_limits=FetchLimits(seconds=1))
    cue = SkillCue(source)
    assert codes(cue) == ["source-unreachable"] and "more than 1" in cue.diagnostics[0].message


def test_a_program_that_does_not_exist(tmp_path):
    cue = SkillCue(McpSource(command=[str(tmp_path / "no-such-program")]))
    assert codes(cue) == ["source-unreachable"]


def test_answers_that_are_too_large(skills, script):
    (skills / "beta" / "large.txt").write_text("x" * 2_000_000, "utf-8")
    server = HttpServer(script, skills)
    server.start()
    try:
        limits = FetchLimits(download_bytes=1_000_000)
        cue = SkillCue(McpSource(server.url, fetch_limits=limits))
        assert codes(cue) == ["source-refused"]
        assert "download_bytes" in cue.diagnostics[0].message
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "http://example.org/mcp"}, "without encryption"),
        ({"url": "http://127.0.0.1.example.org/mcp"}, "without encryption"),
        ({"url": "https://a:b@host/mcp"}, "must not hold a password"),
        ({"url": "ws://host/mcp"}, "no address"),
        ({"url": "https:///mcp"}, "no address"),
        ({}, "by an address or by a command"),
        ({"url": "https://host/mcp", "command": ["x"]}, "by an address or by a command"),
        ({"command": "server --option"}, "by an address or by a command"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        McpSource(**arguments)


def test_headers_are_sent_and_never_shown(tmp_path):
    source = McpSource("https://127.0.0.1:9/mcp", headers={"Authorization": "Bearer hunter2"})
    cue = SkillCue(source)
    assert codes(cue) == ["source-unreachable"]
    assert "hunter2" not in f"{source} {source.location} {cue.diagnostics}"
