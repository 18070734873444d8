"""`SkillCue`: wrong set-up raises early and says what to do; push fails open, pull answers."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path
from typing import Any

import pytest
from support.conversations import PHRASES
from support.ids import steady
from support.modes import CountingModes
from support.policies import Observer

from skillcue import FolderSource, PushSettings, SkillCue
from skillcue.extras import require
from skillcue_hooks import hookimpl
from skillcue_hooks.errors import (
    AttachError,
    ConfigurationError,
    LibraryNotFoundError,
    MissingExtraError,
    PluginError,
    SkillcueError,
    SkillFileError,
    SkillNotFoundError,
    StrictLibraryError,
    UnknownModeError,
    UnknownSettingError,
)

TOMATO = PHRASES[0]
SAY = [{"role": "user", "content": TOMATO}]


# building one


@pytest.mark.parametrize(
    ("wrong", "close"),
    [
        ("mod", "mode"),
        ("plugin", "plugins"),
        ("nudges", "nudge"),
        ("retrust", "trust"),
        ("caches", "cache"),
        ("wiat", "wait"),
    ],
)
def test_an_unknown_setting_names_the_closest(garden, wrong, close):
    with pytest.raises(UnknownSettingError, match=f"Did you mean '{close}'"):
        SkillCue(garden, **{wrong: 1})


def test_a_setting_like_none_lists_them_all(garden):
    with pytest.raises(UnknownSettingError) as caught:
        SkillCue(garden, zzz=1)
    assert "recheck" in caught.value.cure and "unknown" not in caught.value.cure


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (None, "NoneType is no skill source"),
        (3, "int is no skill source"),
        (b"skills", "bytes is no skill source"),
        ({"a": "b"}, "dict is no skill source"),
        ([None], "NoneType is no skill source"),
        ([b"skills"], "bytes is no skill source"),
        ([["skills"]], "list is no skill source"),
        (object(), "object is no skill source"),
        ([], "There is no skill source"),
        ((), "There is no skill source"),
        ("", "'' is no skill source"),
        ("a\x00b", "no skill source"),
        ("no/such/folder", "does not exist"),
        (Path("no/such/folder"), "does not exist"),
        (
            "hg+https://example.org/skills",
            r"No source opens hg\+https://.*git\+https://.*sqlite:///",
        ),
        ("mysql://me:secret@db/x", r"No source opens mysql:// \(mysql://db/x\)"),
        ("s3://bucket/skills.zip", "No source opens s3://.*DatabaseSource"),
    ],
    ids=steady,
)
def test_what_cannot_be_a_source_is_refused(sources, words):
    with pytest.raises(ConfigurationError, match=words):
        SkillCue(sources)


def test_a_file_is_no_source(garden):
    with pytest.raises(LibraryNotFoundError, match="is a file"):
        SkillCue(__file__)
    assert len(SkillCue(garden / "bee-hotel" / "SKILL.md").list()) == 1
    assert len(SkillCue([garden / "bee-hotel", FolderSource(garden)]).list()) == 8


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"mode": "bm52"}, UnknownModeError),
        ({"mode": ""}, UnknownModeError),
        ({"mode": ["bm25"]}, UnknownModeError),
        ({"modes": {"bm52": {}}}, UnknownModeError),
        ({"modes": ["bm25"]}, ConfigurationError),
        ({"modes": {"bm25": 3}}, ConfigurationError),
        ({"trust": "yes"}, ConfigurationError),
        ({"recheck": "sometimes"}, ConfigurationError),
        ({"push": {"k": 3}}, ConfigurationError),
        ({"push": True}, ConfigurationError),
        ({"cache": 3}, ConfigurationError),
        ({"cache": True}, ConfigurationError),
        ({"cache": ""}, ConfigurationError),
        ({"cache": __file__}, ConfigurationError),
        ({"plugins": "my_plugin"}, ConfigurationError),
        ({"plugins": object()}, ConfigurationError),
        ({"plugins": [object()]}, PluginError),
        ({"block_plugins": "langgraph"}, ConfigurationError),
    ],
    ids=steady,
)
def test_wrong_settings_raise_at_once(garden, options, error):
    with pytest.raises(error):
        SkillCue(garden, **options)


def test_a_setting_of_a_mode_is_checked_when_the_mode_is_built(garden):
    cue = SkillCue(garden, modes={"bm25": {"k2": 1}})
    with pytest.raises(UnknownSettingError, match="Did you mean"):
        cue.lookup("x")
    with pytest.raises(UnknownSettingError):
        cue.advise(SAY)
    with pytest.raises(UnknownSettingError):
        SkillCue(garden, modes={"bm25": {"k2": 1}}, wait=True)


@pytest.mark.parametrize("wait", [False, True], ids=["on first use", "at once"])
def test_modes_that_are_each_others_base_are_a_mistake(garden, wait):
    modes = {"refine": {"base": "expand"}, "expand": {"base": "refine"}}

    def use() -> Any:
        with SkillCue(garden, mode="refine", llm=lambda s, p: "", modes=modes, wait=wait) as cue:
            cue.advise(SAY)

    with pytest.raises(ConfigurationError, match="refine -> expand -> refine") as error:
        use()
    assert "another base" in error.value.cure
    with SkillCue(garden, llm=lambda s, p: "", modes=modes) as cue:
        for mode in ("expand", "refine", "expand"):  # a failure leaves nothing behind
            with pytest.raises(ConfigurationError, match="its own base"):
                cue.lookup(TOMATO, mode=mode)
        assert cue.lookup(TOMATO).hits


def test_building_one_reads_no_file(garden, monkeypatch):
    opened: list[str] = []
    import os

    real = os.open
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: opened.append(str(path)) or real(path, *a)
    )
    cue = SkillCue(garden)
    assert [path for path in opened if path.endswith("SKILL.md")] == []
    cue.list()
    assert len([path for path in opened if path.endswith("SKILL.md")]) == 16, "read, and scanned"
    opened.clear()
    SkillCue(garden, block_plugins=["scanner"]).list()
    assert len([path for path in opened if path.endswith("SKILL.md")]) == 8


def test_strict_libraries_raise_when_they_are_read(garden):
    (garden / "bee-hotel" / "SKILL.md").write_text("no header", "utf-8")
    with pytest.raises(StrictLibraryError):
        SkillCue(garden, strict=True, wait=True)
    assert len(SkillCue(garden, wait=True).list()) == 8
    assert len(SkillCue(garden, strict=True).list()) == 7


def test_waiting_ends_with_the_time_given(garden):
    release = threading.Event()

    class Slow:
        @hookimpl
        def skillcue_register_retrievers(self, register: Any) -> None:
            register("slow", self.build)

        def build(self, library: Any, context: Any) -> Any:
            release.wait(10)
            return context.retriever("bm25")

    cue = SkillCue(garden, mode="slow", plugins=[Slow()], cache=False)
    assert cue.wait_ready(timeout=0.01) is False
    release.set()
    assert cue.wait_ready() is True


# asking one


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"k": 0}, ConfigurationError, "k is 0"),
        ({"offset": -1}, ConfigurationError, "offset is -1"),
        ({"filters": {"tags": "x"}}, UnknownSettingError, "Did you mean 'tag'"),
        ({"mode": "bm52"}, UnknownModeError, "bm25"),
        ({"mode": 3}, UnknownModeError, "bm25"),
    ],
)
def test_wrong_arguments_of_lookup_raise(garden, arguments, error, words):
    with pytest.raises(error, match=words):
        SkillCue(garden).lookup("x", **arguments)


def test_filters_of_every_field(garden):
    cue = SkillCue(garden)
    assert cue.lookup(TOMATO, filters={"source": "garden", "trust": "trusted"}).hits
    assert not cue.lookup(TOMATO, filters={"source": "other"}).hits
    assert not cue.lookup(TOMATO, filters={"tag": "none"}).hits
    assert not cue.lookup(TOMATO, filters={"category": "none"}).hits


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("no-such",), SkillNotFoundError),
        (("bee-hotel", "no-such.md"), SkillFileError),
        (("bee-hotel", "../x"), SkillFileError),
        (("bee-hotel", None, 0), SkillFileError),
        (("bee-hotel", None, -1), SkillFileError),
        (("bee-hotel", None, 2), SkillFileError),
    ],
)
def test_wrong_arguments_of_load_raise(garden, arguments, error):
    with pytest.raises(error):
        SkillCue(garden).load(*arguments)


@pytest.mark.parametrize("target", [None, 3, "graph", object(), SkillCue])
def test_nothing_knows_how_to_attach_to_it(garden, target):
    with pytest.raises(AttachError, match="SkillMiddleware"):
        SkillCue(garden).attach(target)


# what surfaces from push and what does not


class Boom(CountingModes):
    def __init__(self, error: BaseException) -> None:
        super().__init__("boom")
        self.exception = error

    def called(self, mode: str, query: Any) -> None:
        raise self.exception


SURFACES = [
    ConfigurationError("wrong"),
    UnknownModeError("x", ()),
    UnknownSettingError("x", ()),
    LibraryNotFoundError("gone"),
    PluginError("broken"),
    MissingExtraError("torch", "neural"),
    KeyboardInterrupt(),
    SystemExit(),
]
FAILS_OPEN = [
    RuntimeError("x"),
    ValueError("x"),
    KeyError("x"),
    OSError("x"),
    ImportError("x"),
    MemoryError(),
    RecursionError(),
    TimeoutError(),
    AssertionError(),
    UnicodeDecodeError("utf-8", b"", 0, 1, "x"),
    SkillcueError("x"),
    SkillNotFoundError("x", ()),
]


@pytest.mark.parametrize("error", SURFACES, ids=lambda e: type(e).__name__)
def test_mistakes_of_the_set_up_surface_from_push(garden, error):
    cue = SkillCue(garden, mode="boom", plugins=[Boom(error)])
    with pytest.raises(type(error)):
        cue.advise(SAY)
    with pytest.raises(type(error)):
        cue.advisor("skill_load").plan(SAY)
    if isinstance(error, Exception):
        answer = cue.tools().lookup(TOMATO)
        assert answer.error and answer.text.startswith("Error: ")


@pytest.mark.parametrize("error", FAILS_OPEN, ids=lambda e: type(e).__name__)
def test_everything_else_gives_no_advice(garden, error, caplog):
    cue = SkillCue(garden, mode="boom", plugins=[Boom(error)])
    advice = cue.advise(SAY)
    assert (advice.decision, advice.text, advice.mode) == ("abstain", "", "boom")
    assert type(error).__name__ in advice.reason
    assert advice.turn is not None and advice.turn.user_text == TOMATO
    plan = cue.advisor("skill_load").plan(SAY)
    assert (plan.placements, plan.records) == ((), {})
    assert "push failed" in caplog.text
    with pytest.raises(type(error)):
        cue.lookup(TOMATO)
    assert cue.tools().lookup(TOMATO).error


def test_an_unknown_mode_raises_before_anything_is_read(garden):
    observer = Observer()
    cue = SkillCue(garden, plugins=[observer])
    for messages in (SAY, [], None):
        with pytest.raises(UnknownModeError, match="Did you mean 'bm25'"):
            cue.advise(messages, mode="bm52")
    assert observer.advised == []


def test_a_library_that_fails_gives_no_advice(garden, monkeypatch):
    class Gone:
        label = "gone"
        trust = "trusted"

        def scan(self, previous: Any) -> Any:
            raise OSError("no disk")

        def read_body(self, skill: Any) -> str:
            raise OSError("no disk")

        def base_dir(self, skill: Any) -> None:
            return None

    cue = SkillCue([garden, Gone()])
    assert cue.advise(SAY).decision == "offer"  # sources fail apart from each other
    assert "source-failed" in {diagnostic.code for diagnostic in cue.diagnostics}
    assert SkillCue(Gone()).advise(SAY).decision == "abstain"


# async twins


async def test_async_twins_answer_the_same(garden):
    cue = SkillCue(garden)
    one, two = await cue.alookup(TOMATO, 3, None, "context"), cue.lookup(TOMATO, 3, None, "context")
    assert one.hits == two.hits and one.total == two.total
    assert await cue.aload("bee-hotel", None, 1) == cue.load("bee-hotel", None, 1)
    run_context = {"user": "u"}
    assert (await cue.aadvise(SAY, run_context=run_context)).text == cue.advise(SAY).text
    for ask in (cue.alookup("x", mode="bm52"), cue.aadvise(SAY, mode="bm52")):
        with pytest.raises(UnknownModeError):
            await ask
    with pytest.raises(SkillNotFoundError):
        await cue.aload("no-such")


def test_each_twin_takes_what_its_original_takes():
    for name in ("lookup", "load", "advise"):
        first = next(iter(list(inspect.signature(getattr(SkillCue, name)).parameters)[1:]))
        twin = inspect.signature(getattr(SkillCue, f"a{name}")).parameters
        assert list(twin) == ["self", first, "args", "kwargs"]


# closing


def test_closing_twice_is_harmless_and_the_library_stays_readable(garden, tmp_path):
    for cache in (None, tmp_path / "cache", False):
        cue = SkillCue(garden, cache=cache)
        with cue:
            assert cue.lookup(TOMATO).hits
        cue.close()
        assert len(cue.list()) == 8
        assert cue.lookup(TOMATO).hits


# extras


@pytest.mark.parametrize(
    "module", ["no_such_package", "no_such_package.part", "skillcue.no_such", "skillcue.cli.part"]
)
def test_a_missing_extra_names_the_install_line(module):
    with pytest.raises(MissingExtraError, match=r'pip install "skillcue\[some\]"'):
        require(module, "some-package", "some")
    require("skillcue.push.gate", "x", "x")


def test_push_settings_reach_the_advisor(garden):
    cue = SkillCue(garden, push=PushSettings(tokens_per_turn=20))
    assert cue.advise(SAY).reason == "the advice does not fit in the token budget"


@pytest.mark.parametrize(
    "ask",
    [
        lambda cue: cue.lookup(None),
        lambda cue: cue.lookup("pdf", k="3"),
        lambda cue: cue.lookup("pdf", k=1.5),
        lambda cue: cue.lookup("pdf", k=None),
        lambda cue: cue.lookup("pdf", offset="0"),
        lambda cue: cue.load(None),
        lambda cue: cue.load(3),
    ],
)
def test_arguments_of_another_type_are_clear_errors(example_skills, ask):
    with SkillCue(example_skills) as cue, pytest.raises(ConfigurationError, match="is"):
        ask(cue)


@pytest.mark.parametrize("lock", [5, "", True, ["skillcue.lock"], b"skillcue.lock"])
def test_a_lock_that_is_no_path_is_a_clear_error(garden, lock):
    with pytest.raises(ConfigurationError, match=r'lock is .*lock="skillcue.lock"'):
        SkillCue(garden, lock=lock)
