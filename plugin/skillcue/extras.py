"""One check for optional frameworks: a missing one is an error with the install line."""

from __future__ import annotations

import importlib.util

from skillcue_hooks.errors import MissingExtraError

__all__ = ["require"]


def require(module: str, package: str, extra: str) -> None:
    """Make sure that `module` can be imported.

    Args:
        module: Import name, such as ``llama_index.core``.
        package: Distribution that brings it.
        extra: Extra of skillcue that brings the distribution.

    Raises:
        MissingExtraError: It is not installed, or so old that it lacks the module.
    """
    try:
        found = importlib.util.find_spec(module)  # imports the packages around it
    except ImportError as error:
        raise MissingExtraError(package, extra) from error
    if found is None:
        raise MissingExtraError(package, extra)
