"""The page of errors: every class, when it is raised and what to do, and the tree as it is."""

from __future__ import annotations

import re
from pathlib import Path

from skillcue_hooks import errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"
CLASSES = [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]


def sections() -> dict[str, str]:
    parts = re.split(r"^## (\w+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def drawn(text: str) -> list[str]:
    """Lines of a tree, with what explains them cut off."""
    return [
        match[0].strip()
        for match in re.finditer(r"^[ │├└─]*\w+Error(?: \(\w+\))?", text, re.MULTILINE)
    ]


def test_every_error_has_a_section_with_when_and_cure() -> None:
    assert set(sections()) == set(CLASSES)
    for name, text in sections().items():
        when, cure = (
            re.search(r"^\*When:\* (.+)", text, re.MULTILINE),
            re.search(r"^\*Cure:\* (.+)", text, re.MULTILINE),
        )
        assert when, name
        assert cure, name


def test_sections_say_which_builtin_an_error_is() -> None:
    for name, text in sections().items():
        builtins = {b for b in getattr(errors, name).__bases__ if b.__module__ == "builtins"}
        named = re.search(r"^Also an? `(\w+)`\.$", text, re.MULTILINE)
        assert {b.__name__ for b in builtins - {Exception}} == ({named[1]} if named else set()), (
            name
        )


def test_attributes_in_the_page_exist() -> None:
    made = {
        "UnknownModeError": errors.UnknownModeError("x", ()),
        "UnknownSettingError": errors.UnknownSettingError("x", ()),
        "MissingExtraError": errors.MissingExtraError("x", "y"),
        "SkillNotFoundError": errors.SkillNotFoundError("x", ()),
        "AmbiguousNameError": errors.AmbiguousNameError("x", ()),
    }
    for name, text in sections().items():
        found = re.search(r"Attributes?: ([^.]+)\.", text)
        documented = set(re.findall(r"`(\w+)`", found[1])) if found else set()
        own = set(vars(made[name])) - {"message", "cure"} if name in made else set()
        assert documented == own, name


def test_the_tree_is_the_one_of_the_module() -> None:
    page = PAGE.read_text("utf-8").partition("```text\n")[2].partition("```")[0]
    assert drawn(page) == drawn(errors.__doc__ or "")
    assert len(drawn(page)) == len(CLASSES)
