"""Publishing makes a tenant's skills those of the sources, and pays for what differs only."""

from __future__ import annotations

import os

import pytest
from support.conversations import write_garden
from support.indexes import WatchedIndex, over, put
from support.policies import Assessor

from skillcue import FolderSource, SkillCue, StaticSource
from skillcue.indexed import Indexed, Published, publish
from skillcue_adapters.indexed import MemoryIndex
from skillcue_hooks.errors import ConfigurationError, LibraryNotFoundError
from skillcue_hooks.testing import FakeEncoder, make_skill

NAME = "tomato-pruning"


class CountingEncoder(FakeEncoder):
    def __init__(self, dim: int = 32) -> None:
        super().__init__(dim)
        self.texts = 0

    def encode_documents(self, texts):
        self.texts += len(texts)
        return super().encode_documents(texts)


@pytest.fixture
def garden(tmp_path):
    return write_garden(tmp_path / "garden")


@pytest.fixture
def index():
    return WatchedIndex()


def ids(index, tenant=""):
    return [skill.id for skill in index.iterate((tenant,))]


def test_a_second_run_costs_nothing(garden, index):
    encoder = CountingEncoder()
    first = publish(garden, index, encoder=encoder)
    assert (len(first.new), first.unchanged, first.changed, first.deleted) == (8, 0, (), ())
    assert encoder.texts == 8
    index.calls.clear()
    again = publish(garden, index, encoder=encoder)
    assert (again.new, again.unchanged, again.revision) == ((), 8, first.revision)
    assert encoder.texts == 8
    assert index.calls["apply"] == 0


def test_an_edit_costs_one_skill_and_a_file_beside_it_counts(garden, index):
    put(garden, index)
    (garden / NAME / "notes.txt").write_text("first")
    report = put(garden, index)
    assert (report.changed, report.unchanged) == ((f"{NAME}@{NAME}",), 7)
    assert over(index).load(NAME, "notes").text == "first"
    (garden / NAME / "notes.txt").write_text("other")
    assert put(garden, index).changed == (f"{NAME}@{NAME}",)
    assert over(index).load(NAME, "notes.txt").text == "other"


def test_what_an_author_wrote_into_metadata_stays(tmp_path, index):
    path = tmp_path / "dated" / "SKILL.md"
    path.parent.mkdir()
    header = "name: dated\ndescription: About dates.\nmetadata:\n  published: 2020-01-01\n"
    path.write_text(f"---\n{header}---\n\nBody.\n", "utf-8")
    put(tmp_path, index)
    folder = SkillCue(tmp_path, mode="bm25").load("dated").skill.metadata
    shared = over(index).load("dated").skill.metadata
    assert folder and {key: shared.get(key) for key in folder} == folder


def test_what_no_source_holds_is_deleted_unless_it_is_kept(garden, index):
    put(garden, index, "acme")
    put(garden, index, "other")
    (garden / NAME / "SKILL.md").unlink()
    gone = f"{NAME}@acme/{NAME}"
    assert put(garden, index, "acme", keep=True).deleted == ()
    assert gone in ids(index, "acme")
    dry = put(garden, index, "acme", dry_run=True)
    assert (dry.deleted, dry.dry_run) == ((gone,), True)
    assert gone in ids(index, "acme")
    assert put(garden, index, "acme").deleted == (gone,)
    assert gone not in ids(index, "acme")
    assert len(ids(index, "other")) == 8


def test_a_dry_run_changes_nothing(garden, index):
    report = put(garden, index, dry_run=True)
    assert len(report.new) == 8
    assert ids(index) == []


def test_an_empty_or_unreadable_source_deletes_nothing(garden, index, tmp_path):
    put(garden, index)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="no skill to publish"):
        put(tmp_path / "empty", index)

    class Broken(StaticSource):
        def scan(self, previous=None):
            raise OSError("disk on fire")

    with pytest.raises(ConfigurationError, match="disk on fire"):
        put([garden, Broken("broken", [])], index)
    assert len(ids(index)) == 8
    with pytest.raises(LibraryNotFoundError):
        put(tmp_path / "nowhere", index)


def test_a_skill_that_cannot_be_read_stays_as_it_was(garden, index):
    class Flaky(FolderSource):
        def read_body(self, skill):
            if skill.name == NAME:
                raise OSError("bad sector")
            return super().read_body(skill)

    put(garden, index)
    report = put(Flaky(garden), index)
    assert [skill_id for skill_id, _ in report.skipped] == [f"{NAME}@{NAME}"]
    assert (report.unchanged, report.deleted) == (7, ())
    assert f"{NAME}@{NAME}" in ids(index)


def test_files_whose_names_are_no_text_are_left_out_and_told(garden, index):
    (garden / NAME / "notes.txt").write_text("first")
    with open(os.path.join(os.fsencode(garden / NAME), b"caf\xe9.md"), "wb") as file:
        file.write(b"coffee")
    report = put(garden, index, "acme")
    reason = "its name has characters that cannot be shown"
    assert report.skipped == ((f"{NAME}@acme/{NAME} caf%E9.md", reason),)
    assert (len(report.new), report.unchanged) == (8, 0)
    assert over(index, "acme").load(NAME).files == ("notes.txt",)


def test_ids_carry_the_tenant_and_paths_no_folder_of_the_publisher(garden, index):
    put(garden, index, "acme")
    skill = over(index, "acme").load(NAME).skill
    assert skill.id == f"{NAME}@acme/{NAME}"
    assert skill.path.as_posix() == f"acme/{NAME}/SKILL.md"
    one = garden / NAME
    put(one, index, "one skill/50%")
    alone = over(index, "one skill/50%").load(NAME).skill
    assert alone.id == f"{NAME}@one skill/50%25"
    assert str(garden) not in repr(alone)


def test_trust_is_stored_as_assessed(garden, index):
    put(garden, index, plugins=[Assessor(NAME)])
    skill = over(index).load(NAME).skill
    assert (skill.trust, skill.pushable) == ("untrusted", False)
    put(garden, index, "foreign", trust="untrusted")
    assert {s.trust for s in over(index, "foreign").list()} == {"untrusted"}
    advice = over(index, "foreign").advise([{"role": "user", "content": f"use the {NAME} skill"}])
    assert advice.text == ""


def test_another_encoder_is_refused_before_anything_is_stored(garden, index):
    put(garden, index)
    with pytest.raises(ConfigurationError, match="another encoder"):
        publish(garden, index, encoder=FakeEncoder(16))
    with pytest.raises(ConfigurationError, match="another encoder"):
        publish(garden, index, encoder=FakeEncoder(16), dry_run=True)
    assert len(ids(index)) == 8


def test_progress_is_told(garden, index):
    told: list[Published] = []
    put(garden, index, progress=told.append)
    assert told[-1] == Published(8, 8, 8)
    assert [p.done for p in told] == sorted(p.done for p in told)


def test_batches_are_bounded(index, monkeypatch):
    sizes = []
    own = MemoryIndex.apply

    def apply(self, upserts, deletes=(), **more):
        sizes.append(len(upserts))
        return own(self, upserts, deletes, **more)

    monkeypatch.setattr(MemoryIndex, "apply", apply)
    many = [make_skill(f"s{n}", f"number {n}", "x" * 100) for n in range(600)]
    big = [make_skill(f"big{n}", f"big {n}", "y" * 3_000_000) for n in range(5)]
    put(StaticSource("many", many), MemoryIndex())
    assert sum(sizes) == 600 and max(sizes) == 256
    sizes.clear()
    put(StaticSource("big", big), MemoryIndex())
    assert sum(sizes) == 5 and max(sizes) == 2


def test_what_only_files_have_is_no_option_of_an_index(garden, index):
    put(garden, index)
    for option in ({"trust": "untrusted"}, {"strict": True}, {"augment": True}, {"lock": "x"}):
        with pytest.raises(ConfigurationError, match="publish"):
            SkillCue(Indexed(index), **option)  # type: ignore[arg-type]


def test_an_index_beside_folders_is_an_error_with_the_cure(garden, index):
    with pytest.raises(ConfigurationError, match="skillcue publish"):
        SkillCue([Indexed(index), garden])  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="skillcue publish"):
        SkillCue([str(garden), "postgresql://localhost/x"])
    assert SkillCue([index]).snapshot().library.index is index  # type: ignore[list-item]
    assert SkillCue(index).snapshot().library.tenants == ("",)  # type: ignore[arg-type]


def test_an_index_is_not_published_again(garden, index):
    put(garden, index)
    with pytest.raises(ConfigurationError, match="already"):
        put(Indexed(index), MemoryIndex())


@pytest.mark.parametrize("tenants", [(), "acme", ("a", "a"), ("\n",), (" a",), (3,), ("x" * 201,)])
def test_wrong_tenants_are_refused(index, tenants):
    with pytest.raises(ConfigurationError, match="enant"):
        Indexed(index, tenants)


def test_what_is_no_index_is_refused():
    with pytest.raises(ConfigurationError, match="no skill index"):
        Indexed(object())  # type: ignore[arg-type]


def test_the_tenant_is_the_one_that_the_index_is_named_with(garden, index):
    report = publish(garden, Indexed(index, ("acme",)), encoder=FakeEncoder())
    assert report.tenant == "acme"
    for named, tenant in ((("acme", "b"), None), (("acme",), "b")):
        with pytest.raises(ConfigurationError, match="tenant"):
            publish(garden, Indexed(index, named), tenant=tenant, encoder=FakeEncoder())
