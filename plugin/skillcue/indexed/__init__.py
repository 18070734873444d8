"""A library that several processes share, in an index: connect to one, and publish skills into it."""

from __future__ import annotations

from skillcue.indexed.connect import Indexed
from skillcue.indexed.publish import Published, PublishReport, publish

__all__ = ["Indexed", "PublishReport", "Published", "publish"]
