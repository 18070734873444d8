"""The two pluggy markers. The project name ``skillcue`` is also the entry-point group."""

from __future__ import annotations

import pluggy

__all__ = ["PROJECT", "hookimpl", "hookspec"]

PROJECT = "skillcue"
"""Marker name, entry-point group and prefix of every hook."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
