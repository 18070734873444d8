"""``skillcue plugins``: who is loaded, with which hooks and modes."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from skillcue import __version__, builtin
from skillcue.commands.output import Screen, write_json
from skillcue.engine import registered_factories
from skillcue_hooks.manager import SkillcuePluginManager, build_manager

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Print one line a plugin."""
    manager = build_manager(builtin.plugins())
    registered_factories(manager)  # two plugins that claim one mode are an error here as well
    modes = _modes(manager)
    records = [_record(plugin, modes) for plugin in manager.describe()]
    if args.json:
        write_json({"plugins": records})
        return 0
    rows = [
        (
            record["name"],
            record["distribution"] or "-",
            record["version"] or "-",
            "blocked" if record["blocked"] else "\n".join(record["hooks"]),
            ", ".join(record["modes"]) or "-",
        )
        for record in records
    ]
    Screen().table(("plugin", "distribution", "version", "hooks", "modes"), rows)
    return 0


def _modes(manager: SkillcuePluginManager) -> dict[str, list[str]]:
    """Plugin name to the modes it registers, sorted."""
    modes: dict[str, list[str]] = {}
    for impl in manager.hook.skillcue_register_retrievers.get_hookimpls():
        names = modes.setdefault(impl.plugin_name, [])
        impl.function(lambda name, _factory, names=names: names.append(name))
        names.sort()
    return modes


def _record(plugin: dict[str, Any], modes: dict[str, list[str]]) -> dict[str, Any]:
    """Built-ins come without a distribution of their own: they are part of this one."""
    own = plugin["name"] in builtin.plugins()
    return {
        "name": plugin["name"],
        "distribution": "skillcue" if own else plugin["distribution"],
        "version": __version__ if own else plugin["version"],
        "hooks": plugin["hooks"],
        "blocked": plugin["blocked"],
        "modes": modes.get(plugin["name"], []),
    }
