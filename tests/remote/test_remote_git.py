"""Skills from git: real repositories over file://, pins, branches, links, hostile content."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.remote import Repository, skill_text, write_skill_at

from skillcue import SkillCue
from skillcue.remote import FetchLimits, GitSource
from skillcue.remote.git_program import GitProgram, without_credentials
from skillcue_hooks.errors import ConfigurationError, SkillLookupError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "toolbox")
    write_skill_at(made.folder / "skills", "alpha")
    made.commit("first")
    return made


def codes(cue: SkillCue) -> list[str]:
    return [item.code for item in cue.diagnostics]


def described(cue: SkillCue) -> dict[str, str]:
    return {skill.name: skill.description for skill in cue.list()}


def test_a_branch_by_text(repository, tmp_path):
    cue = SkillCue(f"git+{repository.url}@main#subdirectory=skills", cache=tmp_path / "cache")
    (skill,) = cue.list()
    assert (skill.id, skill.source, skill.trust) == ("alpha@alpha", "toolbox", "untrusted")
    assert cue.load("alpha", "references/notes.txt").text == "Notes of alpha."
    assert cue.load("alpha").files == ("references/notes.txt",)
    assert cue.sources[0].digest == f"git:{repository.git('rev-parse', 'HEAD')}"
    assert cue.diagnostics == ()
    assert cue.advise([{"role": "user", "content": "use alpha"}]).decision == "abstain"


def test_content_hash_and_diagnostics_are_those_of_the_same_folder(repository):
    (repository.folder / "skills" / "odd").mkdir()
    (repository.folder / "skills" / "odd" / "SKILL.md").write_text("no front matter\n", "utf-8")
    repository.commit()
    fetched = SkillCue(f"git+{repository.url}#subdirectory=skills")
    local = SkillCue(repository.folder / "skills")
    assert [(s.id, s.content_hash) for s in fetched.list()] == [
        (s.id, s.content_hash) for s in local.list()
    ]
    assert [(d.code, d.message) for d in fetched.diagnostics] == [
        (d.code, d.message) for d in local.diagnostics
    ]


def test_the_file_of_a_skill_cannot_leave_its_folder(repository):
    write_skill_at(repository.folder / "skills", "beta")
    repository.commit()
    cue = SkillCue(f"git+{repository.url}")
    for name in ("../beta/SKILL.md", "/etc/passwd", "../../../notes.json"):
        with pytest.raises(SkillLookupError):
            cue.load("alpha", name)


def test_a_full_commit_is_a_pin_that_is_never_fetched_again(repository, tmp_path):
    first = repository.git("rev-parse", "HEAD")
    write_skill_at(repository.folder / "skills", "alpha", "Later.")
    repository.commit("second")  # `first` is no tip of any branch now
    source = GitSource(repository.url, first, cache=tmp_path / "cache")
    assert described(SkillCue(source)) == {"alpha": "Does alpha."}
    assert source.digest == f"git:{first}"
    repository.folder.rename(tmp_path / "gone")
    again = SkillCue(GitSource(repository.url, first, cache=tmp_path / "cache"))
    assert described(again) == {"alpha": "Does alpha."} and again.diagnostics == ()
    assert source.update() is False


def test_a_server_that_gives_another_commit_is_refused(repository, tmp_path, monkeypatch):
    wanted = "1" * 40
    source = GitSource(repository.url, wanted)
    run = GitProgram.run

    def tampered(self: GitProgram, *arguments: str) -> bytes:
        changed = ["main" if argument == wanted else argument for argument in arguments]
        return run(self, *changed)

    monkeypatch.setattr(GitProgram, "run", tampered)
    cue = SkillCue(source)
    assert (cue.list(), codes(cue)) == ((), ["source-refused"])
    assert f"Commit {wanted} was asked for" in cue.diagnostics[0].message


def test_a_tag_with_a_message_is_the_commit_it_names(repository):
    commit = repository.git("rev-parse", "HEAD")
    repository.git("tag", "-a", "v1", "-m", "one")
    write_skill_at(repository.folder / "skills", "alpha", "Later.")
    repository.commit("second")
    source = GitSource(repository.url, "v1")
    assert described(SkillCue(source)) == {"alpha": "Does alpha."}
    assert source.digest == f"git:{commit}"


def test_a_branch_is_followed_and_the_last_checkout_is_kept(repository, tmp_path):
    source = GitSource(repository.url, refresh=3600, cache=tmp_path / "cache")
    cue = SkillCue(source, recheck="always")
    assert described(cue) == {"alpha": "Does alpha."}
    write_skill_at(repository.folder / "skills", "alpha", "Later.")
    repository.commit("second")
    assert described(cue) == {"alpha": "Does alpha."}  # not due yet
    assert source.update() is True
    assert described(cue) == {"alpha": "Later."}
    moved = repository.folder.rename(tmp_path / "gone")
    assert source.update() is False
    assert described(cue) == {"alpha": "Later."} and codes(cue) == ["source-unreachable"]
    assert "1 skills are kept from before" in cue.diagnostics[0].message
    moved.rename(repository.folder)
    source.update()
    assert described(cue) == {"alpha": "Later."} and codes(cue) == []


def test_a_look_that_is_due_runs_in_the_background(repository):
    source = GitSource(repository.url, refresh=0)
    cue = SkillCue(source, recheck="always")
    assert described(cue) == {"alpha": "Does alpha."}
    write_skill_at(repository.folder / "skills", "alpha", "Later.")
    repository.commit("second")
    end = time.monotonic() + 60
    while described(cue) != {"alpha": "Later."}:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_cache_serves_a_start_without_the_repository(repository, tmp_path):
    cache = tmp_path / "cache"
    SkillCue(GitSource(repository.url, refresh=0, cache=cache)).list()
    repository.folder.rename(tmp_path / "gone")
    cue = SkillCue(GitSource(repository.url, refresh=0, cache=cache))
    assert described(cue) == {"alpha": "Does alpha."} and codes(cue) == ["source-unreachable"]


def test_a_fresh_fetch_of_another_process_is_taken(repository, tmp_path):
    cache = tmp_path / "cache"
    SkillCue(GitSource(repository.url, cache=cache)).list()
    repository.folder.rename(tmp_path / "gone")
    cue = SkillCue(GitSource(repository.url, cache=cache))
    assert described(cue) == {"alpha": "Does alpha."} and codes(cue) == []


def test_a_cache_that_was_emptied_is_filled_again(repository, tmp_path):
    source = GitSource(repository.url, cache=tmp_path / "cache")
    cue = SkillCue(source, recheck="always")
    assert described(cue) == {"alpha": "Does alpha."}
    for place in (tmp_path / "cache" / "sources").glob("*/*"):
        subprocess.run(["rm", "-rf", str(place)], check=True)
    assert described(cue) == {"alpha": "Does alpha."} and codes(cue) == []
    assert cue.load("alpha", "references/notes.txt").text == "Notes of alpha."


def test_links_stay_inside(repository, tmp_path):
    skills = repository.folder / "skills"
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (skills / "alpha" / "out.txt").symlink_to(tmp_path / "secret.txt")
    (skills / "alpha" / "up.txt").symlink_to("../../../../../../../../etc/passwd")
    (skills / "alpha" / "nowhere.txt").symlink_to("missing.txt")
    (skills / "alpha" / "inside.txt").symlink_to("references/notes.txt")
    (skills / "alpha" / "step").symlink_to("references")
    (skills / "alpha" / "chain.txt").symlink_to("step/../../../../../../../../../etc/passwd")
    repository.commit()
    cue = SkillCue(f"git+{repository.url}#subdirectory=skills")
    assert cue.load("alpha", "inside.txt").text == "Notes of alpha."
    assert "secret" not in " ".join(cue.load("alpha").files)
    left_out = {d.path.name for d in cue.diagnostics if d.code == "source-part-left-out"}
    assert left_out == {"out.txt", "up.txt", "nowhere.txt", "chain.txt"}
    folder = cue.load("alpha").base_dir
    assert folder is not None
    links = [p for p in folder.rglob("*") if p.is_symlink()]
    assert sorted(p.name for p in links) == ["inside.txt", "step"]


def test_hooks_filters_and_submodules_do_nothing(repository, tmp_path):
    other = Repository(tmp_path / "other")
    write_skill_at(other.folder, "hidden")
    other.commit()
    marker = tmp_path / "ran"
    hook = repository.folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n", "utf-8")
    hook.chmod(0o755)
    attributes = "SKILL.md filter=evil export-ignore ident eol=crlf\n"
    (repository.folder / ".gitattributes").write_text(attributes, "utf-8")
    repository.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.url, "skills/sub"
    )
    repository.commit()
    cue = SkillCue(f"git+{repository.url}#subdirectory=skills")
    assert described(cue) == {"alpha": "Does alpha."}
    text = (repository.folder / "skills" / "alpha" / "SKILL.md").read_bytes()
    assert cue.list()[0].path.read_bytes() == text
    assert [(d.code, d.path.as_posix()) for d in cue.diagnostics] == [
        ("source-part-left-out", "toolbox/sub")
    ]
    assert not marker.exists()


def test_a_filter_of_the_users_configuration_does_not_run(repository, tmp_path, monkeypatch):
    marker = tmp_path / "ran"
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[filter "evil"]\n\tsmudge = touch {marker}; cat\n', "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (repository.folder / ".gitattributes").write_text("* filter=evil\n", "utf-8")
    repository.commit()
    assert described(SkillCue(f"git+{repository.url}")) == {"alpha": "Does alpha."}
    assert not marker.exists()


def test_scripts_keep_their_permission(repository):
    script = repository.folder / "skills" / "alpha" / "run.sh"
    script.write_text("#!/bin/sh\n", "utf-8")
    script.chmod(0o755)
    repository.commit()
    folder = SkillCue(f"git+{repository.url}").load("alpha").base_dir
    assert folder is not None
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "SKILL.md").stat().st_mode) == 0o600


def test_what_surrounds_the_process_does_not_redirect_git(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert described(SkillCue(f"git+{repository.url}")) == {"alpha": "Does alpha."}


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (FetchLimits(files=1), "limit files"),
        (FetchLimits(file_bytes=20), "limit file_bytes"),
        (FetchLimits(total_bytes=20), "limit total_bytes"),
    ],
)
def test_a_repository_that_is_too_large_is_refused(repository, limits, message):
    cue = SkillCue(GitSource(repository.url, fetch_limits=limits))
    assert codes(cue) == ["source-refused"] and message in cue.diagnostics[0].message


def test_a_large_download_is_stopped(repository):
    (repository.folder / "noise.bin").write_bytes(os.urandom(20_000_000))
    repository.commit()
    limits = FetchLimits(download_bytes=1_000_000)
    cue = SkillCue(GitSource(repository.url, fetch_limits=limits))
    assert codes(cue) == ["source-refused"] and "download_bytes" in cue.diagnostics[0].message


def test_a_server_that_says_nothing_is_left_in_time(tmp_path, monkeypatch):
    slow = tmp_path / "slow-ssh"
    slow.write_text("#!/bin/sh\nexec sleep 600\n", "utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(slow))
    source = GitSource("ssh://git@host.invalid/skills.git", fetch_limits=FetchLimits(seconds=1))
    cue = SkillCue(source)
    assert codes(cue) == ["source-unreachable"]
    assert "stopped after 1 seconds" in cue.diagnostics[0].message


def test_nothing_is_left_of_a_fetch_that_failed(repository, tmp_path):
    cache = tmp_path / "cache"
    limits = FetchLimits(file_bytes=20)
    SkillCue(GitSource(repository.url, cache=cache, fetch_limits=limits)).list()
    assert [p.name for p in (cache / "sources").rglob("*") if p.is_file()] == []


def test_without_git_the_cure_is_said(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "Install git" in SkillCue(f"git+{repository.url}").diagnostics[0].message


def test_a_password_is_never_shown(tmp_path):
    url = "https://robot:hunter2@127.0.0.1:9/owner/skills.git"
    cue = SkillCue([f"git+{url}@main"], cache=tmp_path / "cache")
    text = f"{cue.diagnostics} {cue.sources} {cue.sources[0].location}"
    assert codes(cue) == ["source-unreachable"]
    assert "hunter2" not in text and "127.0.0.1" in text
    written = b"".join(p.read_bytes() for p in (tmp_path / "cache").rglob("*") if p.is_file())
    assert b"hunter2" not in written
    assert without_credentials("fatal: 'ssh://a:b@host/x' no") == "fatal: 'ssh://host/x' no"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ext::sh -c touch% /tmp/x",), "no address"),
        (("http://host/r.git",), "no address"),
        (("git://host/r.git",), "no address"),
        (("--upload-pack=touch",), "no address"),
        (("ssh://-oProxyCommand=touch/r.git",), "unsafe"),
        (("https://host/-x",), "begins with"),
        (("https:///r.git",), "no host"),
        (("file://host/r.git",), "no folder"),
        (("https://host/r.git\n",), "unsafe"),
        (("https://host/r.git", "-x"), "no branch"),
        (("https://host/r.git", "--upload-pack=x"), "no branch"),
        (("https://host/r.git", "a..b"), "no branch"),
        (("https://host/r.git", "a:b"), "no branch"),
        (("https://host/r.git", "@{-1}"), "no branch"),
        (("https://host/r.git", "main", "../x"), "goes up"),
    ],
)
def test_what_could_become_an_option_or_a_command_is_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        GitSource(*arguments)


def test_threads_that_ask_at_once_fetch_once(repository, monkeypatch):
    source = GitSource(repository.url)
    calls: list[str] = []
    run = GitProgram.run

    def counted(self: GitProgram, *arguments: str) -> bytes:
        calls.append(arguments[0])
        return run(self, *arguments)

    monkeypatch.setattr(GitProgram, "run", counted)
    threads = [threading.Thread(target=source.scan) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls.count("fetch") == 1


def test_a_branch_that_did_not_move_is_not_fetched_again(repository, monkeypatch):
    source = GitSource(repository.url)
    source.scan(None)
    calls: list[str] = []
    run = GitProgram.run

    def counted(self: GitProgram, *arguments: str) -> bytes:
        calls.append(arguments[0])
        return run(self, *arguments)

    monkeypatch.setattr(GitProgram, "run", counted)
    assert source.update() is False
    assert calls == ["init", "ls-remote"]


def test_a_setting_that_rewrites_addresses_opens_no_other_transport(tmp_path, monkeypatch):
    marker = tmp_path / "ran"
    settings = tmp_path / "gitconfig"
    settings.write_text(
        '[protocol "ext"]\n\tallow = always\n'
        f'[url "ext::touch {marker} "]\n\tinsteadOf = https://rewritten.invalid/\n',
        "utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    cue = SkillCue("git+https://rewritten.invalid/skills.git")
    assert codes(cue) == ["source-unreachable"] and not marker.exists()
    assert "not allowed" in cue.diagnostics[0].message


USE = """
import sys
from skillcue import SkillCue
from skillcue.remote import GitSource

source = GitSource(sys.argv[1], refresh=0, cache=sys.argv[2])
cue = SkillCue(source, recheck="always")
for _ in range(5):
    source.update()
    (skill,) = cue.list()
    assert cue.load("alpha").text.startswith("# Steps"), cue.diagnostics
print(skill.description, [d.message for d in cue.diagnostics])
"""


def test_two_processes_share_one_cache(repository, tmp_path):
    command = [sys.executable, "-c", USE, repository.url, str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for number in range(3):
        write_skill_at(repository.folder / "skills", "alpha", f"Version {number}.")
        repository.commit()
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert all(text.strip().endswith("[]") for text in said), said
    left = [p.name for p in (tmp_path / "cache" / "sources").glob("*/*")]
    assert not [name for name in left if name.startswith(("new-", "last-"))]


def test_a_process_that_dies_in_the_middle_leaves_nothing_half(repository, tmp_path):
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", USE, repository.url, str(cache)]
    for wait in (0.3, 0.5, 0.7, 0.9):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        process.wait()
    cue = SkillCue(GitSource(repository.url, cache=cache))
    assert described(cue) == {"alpha": "Does alpha."} and codes(cue) == []


def test_names_that_git_takes_for_its_own_are_refused(repository):
    blob = repository.git("hash-object", "-w", "skills/alpha/SKILL.md")
    inner = subprocess.run(
        ["git", "mktree"],
        cwd=repository.folder,
        input=f"100644 blob {blob}\tSKILL.md\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for name in ("aux", "git~1", "back\\slash"):
        tree = subprocess.run(
            ["git", "mktree"],
            cwd=repository.folder,
            input=f"040000 tree {inner}\t{name}\n",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        commit = repository.git("commit-tree", tree, "-m", "x")
        repository.git("branch", "-f", "hostile", commit)
        cue = SkillCue(f"git+{repository.url}@hostile")
        assert (cue.list(), len(cue.diagnostics)) == ((), 1), name
        assert cue.diagnostics[0].severity == "error"


def test_a_skill_at_the_root_is_named_by_the_repository(tmp_path):
    made = Repository(tmp_path / "single-skill")
    (made.folder / "SKILL.md").write_text(skill_text("single-skill"), "utf-8")
    made.commit()
    cue = SkillCue(f"git+{made.url}")
    assert [skill.name for skill in cue.list()] == ["single-skill"]
    assert cue.diagnostics == ()


def test_what_git_says_ends_before_the_cure_begins():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"https://127.0.0.1:{taken.getsockname()[1]}/r.git"
        (failed,) = SkillCue(f"git+{address}").diagnostics
    assert failed.code == "source-unreachable"
    assert failed.message.endswith(". Look at the address and the network.")
