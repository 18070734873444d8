"""Keeps the standard tests of a conformance suite in force where it is subclassed."""

from __future__ import annotations

__all__ = ["check_overrides", "protect_guard"]

GUARD = "test_no_standard_test_is_overridden"
"""Name of the test that each suite has, and that calls `check_overrides`."""


def check_overrides(suite: type, subclass: type) -> None:
    """Assert that each standard test that is replaced or deleted says why, as an xfail.

    Args:
        suite: Where the standard tests are.
        subclass: What is run.
    """
    for name in [n for n in vars(suite) if n.startswith("test_")]:
        own = getattr(subclass, name, None)
        if own is getattr(suite, name):
            continue
        marks = [m for m in getattr(own, "pytestmark", []) if m.name == "xfail"]
        assert marks, f"{name} is overridden or deleted without xfail"
        assert all(m.kwargs.get("reason") for m in marks), f"{name}: xfail needs a reason"
        unconditional = all(not m.args and "condition" not in m.kwargs for m in marks)
        assert unconditional, f"{name}: a conditional xfail may let the override pass"


def protect_guard(suite: type, subclass: type) -> None:
    """Refuse a subclass that replaces the test which guards the others.

    Raises:
        TypeError: It does.
    """
    if getattr(subclass, GUARD) is not getattr(suite, GUARD):
        raise TypeError(f"{subclass.__name__} overrides {GUARD}, which guards the others")
