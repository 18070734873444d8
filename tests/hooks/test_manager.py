"""The plugin manager: what it refuses, what it isolates, in which order it calls."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from skillcue_hooks import Advice, Skill, hookimpl, hookspec
from skillcue_hooks.errors import PluginError
from skillcue_hooks.manager import BLOCK_ENV, SkillcuePluginManager, build_manager
from skillcue_hooks.specs import HOOK_KINDS, SkillcueSpecs
from skillcue_hooks.testing import make_skill

ADVICE = Advice("abstain", reason="small talk")


class Answers:
    """Answers ``skillcue_render_advice`` and ``skillcue_assess_skill`` with what it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    @hookimpl
    def skillcue_render_advice(self, advice: Advice) -> Any:
        return self.answer

    @hookimpl
    def skillcue_assess_skill(self, skill: Skill) -> Any:
        return self.answer

    @hookimpl
    def skillcue_advised(self, advice: Advice) -> None:
        self.seen = advice


class Raises:
    """Raises in every hook that `Answers` answers."""

    @hookimpl
    def skillcue_render_advice(self, advice: Advice) -> str:
        raise RuntimeError("no wording today")

    @hookimpl
    def skillcue_assess_skill(self, skill: Skill) -> None:
        raise RuntimeError("no scanner today")

    @hookimpl
    def skillcue_advised(self, advice: Advice) -> None:
        raise RuntimeError("no telemetry today")


def manager_of(*plugins: object) -> SkillcuePluginManager:
    return build_manager({}, plugins)


def names(manager: SkillcuePluginManager) -> list[str]:
    return [record["name"] for record in manager.describe()]


def refused(plugin: object, *words: str) -> str:
    """Add `plugin`; it must be refused, leave nothing behind, and the error must say `words`."""
    manager = manager_of(Answers("kept"))
    before = manager.describe()
    with pytest.raises(PluginError) as caught:
        manager.add(plugin, "stranger")
    assert manager.describe() == before
    assert not hasattr(manager.hook, "skillcue_advise")
    assert manager.collect("skillcue_render_advice", keep, advice=ADVICE) == ["kept"]
    assert manager.has_plugin("stranger") is False
    assert caught.value.cure
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)


def keep(_plugin: str, error: Exception) -> Any:
    raise error


# ---- what is refused ------------------------------------------------------------------------


def test_an_async_method_is_refused() -> None:
    class Async:
        @hookimpl
        async def skillcue_advised(self, advice: Advice) -> None: ...

    refused(Async(), "skillcue_advised", "stranger", "async function", "plain def")


def test_an_async_function_of_a_module_is_refused() -> None:
    @hookimpl
    async def skillcue_advised(advice: Advice) -> None: ...

    module = types.ModuleType("async_module")
    module.skillcue_advised = skillcue_advised  # type: ignore[attr-defined]
    refused(module, "skillcue_advised", "async function")


def test_an_async_generator_is_refused() -> None:
    class AsyncGenerator:
        @hookimpl
        async def skillcue_advised(self, advice: Advice) -> Any:
            yield advice

    refused(AsyncGenerator(), "async function")


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_async_static_and_class_methods_are_refused(kind: Callable[..., Any]) -> None:
    if kind is staticmethod:

        async def function(advice: Advice) -> None: ...
    else:

        async def function(cls: type, advice: Advice) -> None: ...  # type: ignore[misc]

    plugin = type("Plugin", (), {"skillcue_advised": kind(hookimpl(function))})
    refused(plugin(), "async function")


def test_an_inherited_async_method_is_refused() -> None:
    class Base:
        @hookimpl
        async def skillcue_advised(self, advice: Advice) -> None: ...

    class Child(Base):
        pass

    refused(Child(), "async function")


async def _advised(advice: Advice) -> None: ...


class _AsyncCall:
    async def __call__(self, advice: Advice) -> None: ...


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        (functools.partial(_advised), "partial"),
        (_AsyncCall(), "_AsyncCall"),
        (functools.partial(lambda advice: None), "partial"),
    ],
)
def test_marked_objects_that_are_no_functions_are_refused(attribute: Any, kind: str) -> None:
    plugin = type("Plugin", (), {"skillcue_advised": hookimpl(attribute)})
    refused(plugin(), "skillcue_advised", kind, "not a function")
    module = types.ModuleType("objects")
    module.skillcue_advised = hookimpl(attribute)  # type: ignore[attr-defined]
    refused(module, kind)


def test_a_plain_wrapper_around_an_async_function_is_found_out_when_it_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    class Wrapped:
        @hookimpl
        @timed
        async def skillcue_render_advice(self, advice: Advice) -> str:
            return "never"

    manager = manager_of(Answers("built in"), Wrapped())
    # filterwarnings=error: the coroutine must be closed, or this test fails for the warning.
    assert manager.first("skillcue_render_advice", advice=ADVICE) == "built in"
    assert "plugin Wrapped raised in skillcue_render_advice" in caplog.text
    assert "nobody will await" in caplog.text


def test_a_wrapper_that_runs_the_async_function_itself_is_fine() -> None:
    async def wording(advice: Advice) -> str:
        return advice.reason

    class Runs:
        @hookimpl
        def skillcue_render_advice(self, advice: Advice) -> str:
            return asyncio.run(wording(advice))

    assert manager_of(Runs()).first("skillcue_render_advice", advice=ADVICE) == "small talk"


@pytest.mark.parametrize("options", [{"wrapper": True}, {"hookwrapper": True}])
def test_hook_wrappers_are_refused(options: dict[str, bool]) -> None:
    class Wrapper:
        @hookimpl(**options)
        def skillcue_advised(self, advice: Advice) -> Iterator[None]:
            yield

    refused(Wrapper(), "skillcue_advised", "hook wrapper", "plain @hookimpl")


def test_a_generator_function_is_refused() -> None:
    class Generator:
        @hookimpl
        def skillcue_assess_skill(self, skill: Skill) -> Iterator[Any]:
            yield skill

    refused(Generator(), "skillcue_assess_skill", "generator function")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("skillcue_advise", "skillcue_advised"), ("skillcue_registr_encoder", "skillcue_register_en")],
)
def test_a_misspelt_hook_names_the_closest(written: str, meant: str) -> None:
    plugin = type("Misspelt", (), {written: hookimpl(lambda self, advice: None)})
    refused(plugin(), f"implements {written}", f"Did you mean {meant}")


def test_a_misspelt_hook_leaves_its_correct_ones_unregistered() -> None:
    class Half:
        @hookimpl
        def skillcue_advised(self, advice: Advice) -> None: ...

        @hookimpl
        def skillcue_render_advise(self, advice: Advice) -> str:
            return "half"

    refused(Half(), "Did you mean skillcue_render_advice?")


def test_a_name_like_no_hook_lists_the_hooks() -> None:
    plugin = type("Other", (), {"on_event": hookimpl(lambda self: None)})
    message = refused(plugin(), *HOOK_KINDS)
    assert "Did you mean" not in message


def test_an_optional_hook_of_another_release_is_accepted() -> None:
    class Newer(Answers):
        @hookimpl(optionalhook=True)
        def skillcue_of_tomorrow(self, anything: int) -> None: ...

    assert names(manager_of(Newer("x"))) == ["Newer"]


def test_the_hook_can_be_named_by_specname() -> None:
    class Renamed:
        @hookimpl(specname="skillcue_render_advice")
        def words(self, advice: Advice) -> str:
            return "renamed"

    assert manager_of(Renamed()).first("skillcue_render_advice", advice=ADVICE) == "renamed"

    class Wrong:
        @hookimpl(specname="skillcue_rendr_advice")
        def words(self, advice: Advice) -> str:
            return "renamed"

    refused(Wrong(), "Did you mean skillcue_render_advice?")


def _plugin(function: Callable[..., Any]) -> object:
    return type("Plugin", (), {"skillcue_advised": staticmethod(hookimpl(function))})()


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda advise: None, "'advise' is none of its arguments"),
        (lambda advice, turn: None, "'turn' is none of its arguments"),
        (lambda advice=None: None, "'advice' has a default"),
        (lambda *, advice=None: None, "'advice' has a default"),
        (lambda *args: None, "'*args' would always be empty"),
        (lambda **kwargs: None, "'**kwargs' would always be empty"),
        (lambda *, advice: None, "'advice' must be passable by position"),
    ],
)
def test_parameters_that_would_not_be_filled_are_refused(
    function: Callable[..., Any], word: str
) -> None:
    refused(_plugin(function), "skillcue_advised", word, "Its arguments are: advice, context")


def test_a_positional_only_parameter_is_refused() -> None:
    def advised(advice: Advice, /) -> None: ...

    refused(_plugin(advised), "'advice' must be passable by position")


def test_a_subset_of_the_arguments_and_private_defaults_are_fine() -> None:
    seen: list[int] = []

    class Subset:
        @hookimpl
        def skillcue_select_mode(self, library_size: int, limit: int = 100) -> str | None:
            seen.append(library_size)
            return "big" if library_size > limit else None

    found = manager_of(Subset()).first(
        "skillcue_select_mode", turn=None, default="bm25", library_size=101
    )
    assert (found, seen) == ("big", [101])


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    refused(Answers, "register an instance and not the class")


def test_a_class_of_static_methods_is_a_plugin() -> None:
    class Static:
        @staticmethod
        @hookimpl
        def skillcue_render_advice(advice: Advice) -> str:
            return "static"

    assert manager_of(Static).first("skillcue_render_advice", advice=ADVICE) == "static"


def test_a_forgotten_mark_is_refused() -> None:
    class Unmarked:
        def skillcue_advised(self, advice: Advice) -> None: ...

    refused(Unmarked(), "skillcue_advised", "Put @hookimpl above it")


def test_a_hook_that_a_subclass_switches_off_is_not_missed() -> None:
    class Quiet(Answers):
        skillcue_advised = None  # type: ignore[assignment]

    manager = manager_of(Quiet("x"))
    manager.notify("skillcue_advised", advice=ADVICE, context={})
    assert manager.describe()[0]["hooks"] == ["skillcue_assess_skill", "skillcue_render_advice"]


def test_a_plugin_may_inherit_the_specifications_for_their_types() -> None:
    class Typed(SkillcueSpecs):
        @hookimpl
        def skillcue_render_advice(self, advice: Advice) -> str:
            return "typed"

    manager = manager_of(Typed())
    assert manager.first("skillcue_render_advice", advice=ADVICE) == "typed"
    assert manager.describe()[0]["hooks"] == ["skillcue_render_advice"]


@pytest.mark.parametrize("plugin", [object(), "my_package.plugin", None, hookspec])
def test_what_implements_no_hook_is_refused(plugin: object) -> None:
    refused(plugin, "implements no hook")


def test_properties_are_not_evaluated() -> None:
    class Lazy(Answers):
        @property
        def connection(self) -> None:
            raise ConnectionError("registered, not used")

    assert names(manager_of(Lazy("x"))) == ["Lazy"]


# ---- names ----------------------------------------------------------------------------------


def test_two_plugins_of_one_name_are_refused_and_the_first_stays() -> None:
    manager = manager_of()
    manager.add(Answers("first"), "wording")
    with pytest.raises(PluginError, match=r"Plugin wording is registered twice") as caught:
        manager.add(Answers("second"), "wording")
    assert BLOCK_ENV in caught.value.cure
    assert manager.collect("skillcue_render_advice", keep, advice=ADVICE) == ["first"]


def test_one_plugin_under_two_names_is_refused_and_stays_under_the_first() -> None:
    plugin = Answers("one")
    manager = manager_of(plugin)
    with pytest.raises(PluginError, match="registered twice"):
        manager.add(plugin, "again")
    assert names(manager) == ["Answers"]
    assert manager.collect("skillcue_render_advice", keep, advice=ADVICE) == ["one"]


def test_plugins_are_named_after_their_class_or_module() -> None:
    module = types.ModuleType("my_package.plugin")
    module.skillcue_advised = hookimpl(lambda advice: None)  # type: ignore[attr-defined]
    manager = manager_of(Answers("a"), module, Answers("b"), Answers("c"))
    assert names(manager) == ["Answers", "Answers#2", "Answers#3", "my_package.plugin"]


def test_blocked_names_are_not_loaded_whoever_brings_them() -> None:
    manager = build_manager(
        {"lexical": Answers("built in"), "wording": Answers("mine")},
        [Answers("yours"), Raises()],
        block=["wording", "Raises"],
        environ={BLOCK_ENV: " Answers , ,absent"},
    )
    assert manager.collect("skillcue_render_advice", keep, advice=ADVICE) == ["built in"]
    blocked = {r["name"] for r in manager.describe() if r["blocked"]}
    assert blocked == {"Answers", "Raises", "absent", "wording"}


def test_a_blocked_plugin_may_be_broken() -> None:
    class Async:
        @hookimpl
        async def skillcue_advised(self, advice: Advice) -> None: ...

    assert build_manager({}, [Async()], block=["Async"]).describe()[0]["blocked"] is True


def test_a_broken_plugin_of_the_user_stops_the_build() -> None:
    with pytest.raises(PluginError, match="implements no hook"):
        build_manager({"lexical": Answers("x")}, [object()])
    with pytest.raises(PluginError, match="implements no hook"):
        build_manager({"lexical": object()})


def test_describe_has_one_record_a_plugin() -> None:
    manager = build_manager({"wording": Answers("x")}, [Raises()], block=["unwanted"])
    hooks = ["skillcue_advised", "skillcue_assess_skill", "skillcue_render_advice"]
    plain = {"distribution": "", "version": "", "blocked": False, "hooks": hooks}
    assert manager.describe() == [
        {"name": "Raises", **plain},
        {"name": "unwanted", **plain, "hooks": [], "blocked": True},
        {"name": "wording", **plain},
    ]


# ---- calls ----------------------------------------------------------------------------------


def test_collect_runs_the_last_registered_first_and_drops_none() -> None:
    manager = build_manager({"built-in": Answers(1)}, [Answers(2), Answers(None), Answers(3)])
    assert manager.collect("skillcue_assess_skill", keep, skill=make_skill("a"), text="") == [
        3,
        2,
        1,
    ]


def test_tryfirst_and_trylast_move_an_implementation() -> None:
    class First(Answers):
        @hookimpl(tryfirst=True)
        def skillcue_assess_skill(self, skill: Skill) -> str:
            return "first"

    class Last(Answers):
        @hookimpl(trylast=True)
        def skillcue_assess_skill(self, skill: Skill) -> str:
            return "last"

    manager = manager_of(First(0), Answers("middle"), Last(0))
    found = manager.collect("skillcue_assess_skill", keep, skill=make_skill("a"), text="")
    assert found == ["first", "middle", "last"]


def test_falsy_answers_count() -> None:
    assert manager_of(Answers("")).first("skillcue_render_advice", advice=ADVICE) == ""
    empty = manager_of(Answers(())).collect(
        "skillcue_assess_skill", keep, skill=make_skill("a"), text=""
    )
    assert empty == [()]


def test_collect_puts_the_answer_of_on_error_in_its_place() -> None:
    manager = manager_of(Answers(1), Raises(), Answers(3))
    told: list[tuple[str, str]] = []

    def on_error(plugin: str, error: Exception) -> str:
        told.append((plugin, str(error)))
        return "denied"

    found = manager.collect("skillcue_assess_skill", on_error, skill=make_skill("a"), text="")
    assert found == [3, "denied", 1]
    assert told == [("Raises", "no scanner today")]


def test_a_raising_observer_is_logged_with_its_plugin_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before, after = Answers(1), Answers(2)
    manager_of(before, Raises(), after).notify("skillcue_advised", advice=ADVICE, context={})
    assert before.seen is ADVICE
    assert after.seen is ADVICE
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("skillcue.plugins", logging.WARNING)
    assert "plugin Raises raised in skillcue_advised" in record.getMessage()
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "no telemetry today"


def test_first_falls_through_what_raises_and_what_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = manager_of(Answers("built in"), Answers(None), Raises())
    assert manager.first("skillcue_render_advice", advice=ADVICE) == "built in"
    assert "plugin Raises raised in skillcue_render_advice" in caplog.text
    assert manager_of(Raises()).first("skillcue_render_advice", advice=ADVICE) is None


def test_first_stops_at_the_first_answer() -> None:
    called: list[str] = []

    class Notes(Answers):
        @hookimpl
        def skillcue_render_advice(self, advice: Advice) -> Any:
            called.append(self.answer)
            return self.answer

    manager = manager_of(Notes("never"), Notes("wanted"))
    assert manager.first("skillcue_render_advice", advice=ADVICE) == "wanted"
    assert called == ["wanted"]


def test_an_interrupt_is_not_swallowed() -> None:
    class Interrupts:
        @hookimpl
        def skillcue_advised(self, advice: Advice) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        manager_of(Interrupts()).notify("skillcue_advised", advice=ADVICE, context={})


@pytest.mark.parametrize("arguments", [{}, {"advise": ADVICE}, {"advice": ADVICE, "turn": None}])
def test_a_wrong_call_is_the_callers_error_and_not_the_plugins(
    arguments: Mapping[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TypeError, match="skillcue_advised takes"):
        manager_of(Answers(1)).notify("skillcue_advised", **arguments)
    assert not caplog.records


def test_a_hook_without_implementations_answers_nothing() -> None:
    manager = manager_of()
    assert manager.collect("skillcue_assess_skill", keep, skill=make_skill("a"), text="") == []
    assert manager.first("skillcue_render_advice", advice=ADVICE) is None
    manager.notify("skillcue_advised", advice=ADVICE, context={})


def test_managers_do_not_share_plugins() -> None:
    plugin = Answers("shared")
    one, other = manager_of(plugin), manager_of(plugin)
    one.unregister(plugin)
    assert other.first("skillcue_render_advice", advice=ADVICE) == "shared"
    assert one.first("skillcue_render_advice", advice=ADVICE) is None


def test_this_process_loads_no_entry_points_unless_asked() -> None:
    assert "pytest" in sys.modules
    assert build_manager({}).describe() == []
