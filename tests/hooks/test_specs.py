"""The hook specifications: complete, typed, and of the kind they say."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any

import pytest

from skillcue_hooks import hookimpl, specs
from skillcue_hooks.manager import build_manager
from skillcue_hooks.specs import HOOK_KINDS, OBSERVERS, SkillcueSpecs

HOOKS = {name: item for name, item in vars(SkillcueSpecs).items() if inspect.isfunction(item)}


def test_every_hook_has_a_kind_in_the_order_of_the_class() -> None:
    assert list(HOOK_KINDS) == list(HOOKS)


def test_the_kinds_are_those_described_at_the_top() -> None:
    described = re.findall(r"^(\w+)\n    \S", specs.__doc__ or "", re.MULTILINE)
    assert described == ["collecting", "firstresult", "observer"]
    assert set(HOOK_KINDS.values()) == set(described)
    assert {name for name, kind in HOOK_KINDS.items() if kind == "observer"} == set(OBSERVERS)


@pytest.mark.parametrize("name", HOOK_KINDS)
class TestHook:
    def test_pluggy_knows_it_with_its_arguments_and_kind(self, name: str) -> None:
        caller = getattr(build_manager({}).hook, name)
        assert caller.spec.argnames == tuple(inspect.signature(HOOKS[name]).parameters)[1:]
        assert caller.spec.opts["firstresult"] == (HOOK_KINDS[name] == "firstresult")
        assert caller.spec.opts["historic"] is False

    def test_arguments_and_answer_are_typed(self, name: str) -> None:
        hints = typing.get_type_hints(HOOKS[name])
        assert set(hints) == {*inspect.signature(HOOKS[name]).parameters, "return"} - {"self"}

    def test_the_answer_fits_the_kind(self, name: str) -> None:
        answer = typing.get_type_hints(HOOKS[name])["return"]
        registers = name.startswith("skillcue_register_")
        if HOOK_KINDS[name] == "observer" or registers:
            assert answer is type(None)
        else:
            assert answer is Any or type(None) in typing.get_args(answer)

    def test_its_text_says_when_it_fires(self, name: str) -> None:
        text = inspect.getdoc(HOOKS[name]) or ""
        assert re.search(r"\bFires (once|before|after|in)\b", text)

    def test_an_implementation_gets_every_argument_by_name(self, name: str) -> None:
        names = tuple(inspect.signature(HOOKS[name]).parameters)[1:]
        seen: list[dict[str, Any]] = []
        function = eval(f"lambda {', '.join(names)}: seen.append(locals())", {"seen": seen})
        plugin = type("Plugin", (), {name: staticmethod(hookimpl(function))})()
        arguments = {argument: object() for argument in names}
        build_manager({}, [plugin]).notify(name, **arguments)
        assert seen == [arguments]
