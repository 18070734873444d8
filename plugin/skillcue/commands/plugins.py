"""``skillcue plugins``: who is loaded, with which hooks, modes and encoders."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from skillcue import __version__, builtin
from skillcue.commands.output import Screen, write_json
from skillcue.registry import registered_names
from skillcue_hooks.manager import build_manager

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Print one line a plugin."""
    manager = build_manager(builtin.plugins())
    modes = registered_names(manager, "mode")
    encoders = registered_names(manager, "encoder")
    records = [_record(plugin, modes, encoders) for plugin in manager.describe()]
    if args.json:
        write_json({"plugins": records})
        return 0
    rows = [
        (
            record["name"],
            " ".join(filter(None, (record["distribution"], record["version"]))) or "-",
            ", ".join(record["modes"]) or "-",
            ", ".join(record["encoders"]) or "-",
            "blocked" if record["blocked"] else "\n".join(map(_short, record["hooks"])),
        )
        for record in records
    ]
    Screen().table(("plugin", "distribution", "modes", "encoders", "hooks: skillcue_..."), rows)
    return 0


def _short(hook: str) -> str:
    return hook.removeprefix("skillcue_")


def _record(
    plugin: dict[str, Any], modes: dict[str, list[str]], encoders: dict[str, list[str]]
) -> dict[str, Any]:
    """Built-ins come without a distribution of their own: they are part of this one."""
    own = plugin["name"] in builtin.plugins()
    return {
        "name": plugin["name"],
        "distribution": "skillcue" if own else plugin["distribution"],
        "version": __version__ if own else plugin["version"],
        "hooks": plugin["hooks"],
        "blocked": plugin["blocked"],
        "modes": modes.get(plugin["name"], []),
        "encoders": encoders.get(plugin["name"], []),
    }
