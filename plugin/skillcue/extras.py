"""Two checks at the front doors: is the framework installed, and is this a `SkillCue`?"""

from __future__ import annotations

import importlib.util
from typing import Any

from skillcue_hooks.errors import ConfigurationError, MissingExtraError

__all__ = ["checked_cue", "require"]


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


def checked_cue(cue: Any) -> Any:
    """`cue` itself.

    Raises:
        ConfigurationError: It is no `SkillCue`, but for example the path of a folder.
    """
    if hasattr(cue, "plugins") and hasattr(cue, "advisor"):
        return cue
    raise ConfigurationError(
        f"{cue!r} is a {type(cue).__name__}, not a SkillCue.", 'Pass SkillCue("skills/").'
    )
