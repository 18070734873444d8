"""`cached_property` without the lock that it has in Python 3.11.

That lock is one for all objects of a class. A process that is forked while another thread holds it
can never compute the property in the child.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["cached_property"]

T = TypeVar("T")

if sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(Generic[T]):
        """An attribute that is computed when it is first asked for, by two threads perhaps twice."""

        def __init__(self, compute: Callable[[Any], T]) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type[Any], name: str) -> None:
            self._name = name

        @overload
        def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[T]: ...

        @overload
        def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

        def __get__(
            self, instance: object | None, owner: type[Any] | None = None
        ) -> cached_property[T] | T:
            if instance is None:
                return self
            # The first one that is kept is everybody's.
            value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
            return value
