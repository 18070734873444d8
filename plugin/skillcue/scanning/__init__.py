"""The built-in scanner: what is hostile on the face of a skill's text. Pure, linear, no model."""

from __future__ import annotations

from skillcue.scanning.scan import RULES, scan_name, scan_text
from skillcue.scanning.text import Found, ScannedText

__all__ = ["RULES", "Found", "ScannedText", "scan_name", "scan_text"]
