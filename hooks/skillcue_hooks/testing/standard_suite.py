"""What the suites have in common: nobody weakens one without saying so."""

from __future__ import annotations

from typing import Any

__all__ = ["StandardSuite"]

_GUARD = "test_no_standard_test_is_overridden"


class StandardSuite:
    """A suite to subclass, whose tests may only be replaced under an xfail with a reason."""

    def test_no_standard_test_is_overridden(self) -> None:
        """A replaced or deleted standard test must say why, as an xfail with a reason."""
        suite = next(kind for kind in type(self).__mro__ if StandardSuite in kind.__bases__)
        for name in [n for n in vars(suite) if n.startswith("test_")]:
            own = getattr(type(self), name, None)
            if own is getattr(suite, name):
                continue
            marks = [m for m in getattr(own, "pytestmark", []) if m.name == "xfail"]
            assert marks, f"{name} is overridden or deleted without xfail"
            assert all(m.kwargs.get("reason") for m in marks), f"{name}: xfail needs a reason"
            unconditional = all(not m.args and "condition" not in m.kwargs for m in marks)
            assert unconditional, f"{name}: a conditional xfail may let the override pass"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if getattr(cls, _GUARD) is not getattr(StandardSuite, _GUARD):
            raise TypeError(f"{cls.__name__} overrides {_GUARD}, which guards the others")
