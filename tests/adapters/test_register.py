"""The built-in plugin."""

from __future__ import annotations

import importlib
import subprocess
import sys

from skillcue_adapters import register
from skillcue_hooks.manager import build_manager


def test_bm25_comes_through_the_public_door() -> None:
    manager = build_manager({"builtin": register})
    found: dict[str, object] = {}
    manager.hook.skillcue_register_retrievers(register=found.__setitem__)
    module, _, factory = str(found["bm25"]).partition(":")
    assert callable(getattr(importlib.import_module(module), factory))


def test_importing_and_registering_loads_nothing_heavy() -> None:
    code = (
        "import sys, skillcue_adapters, skillcue_adapters.register as r\n"
        "r.skillcue_register_retrievers(register=lambda *a: None)\n"
        "print(sorted({'numpy', 'scipy', 'rank_bm25', 'snowballstemmer', 'diskcache'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
