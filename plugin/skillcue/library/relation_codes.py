"""What is said about the relations that skill files name."""

from __future__ import annotations

from collections.abc import Mapping

from skillcue.library.code import Code

__all__ = ["RELATION_CODES"]

RELATION_CODES: Mapping[str, Code] = {
    "relation-unknown": Code(
        "info",
        "A relation names no skill of the library, or not one alone; it is not used.",
        "Write the name or the id of one skill, or nothing if another kind of thing is meant.",
    ),
    "relation-contradiction": Code(
        "warning",
        "Relations of two skills say the opposite of each other; all of the two are dropped.",
        "Decide which holds, and delete the other.",
    ),
    "relation-cycle": Code(
        "warning",
        "The relation is part of a circle in which each skill comes before itself; it is dropped.",
        "Delete the relation of the circle that does not hold.",
    ),
    "relation-untrusted": Code(
        "info",
        "The skill is untrusted, so what it says about other skills is not used.",
        'Nothing, unless you trust its source: then open it with trust="trusted".',
    ),
}
"""Code to what it stands for."""
