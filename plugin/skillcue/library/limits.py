"""Every bound on reading, in one place, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass, fields

from skillcue_hooks.errors import ConfigurationError

__all__ = ["DEFAULT_LIMITS", "ReadLimits", "limits_of"]


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Bounds of walking and reading; hitting one is reported, never silent.

    Attributes:
        file_bytes: Bytes read of one file; the rest is not looked at.
        body_chars: Characters of a body that are indexed.
        header_chars: Characters of front matter given to the YAML parser.
        header_nodes: Values and keys in one front matter.
        header_depth: Levels of nesting in front matter.
        description_chars: Characters above which a description is reported as long.
        name_chars: Characters above which a name is reported as unsafe.
        walk_depth: Folder levels below the source.
        walk_folders: Folders entered in one scan of a source.
        listed_entries: Directory entries looked at when the files beside a skill are listed.

    Raises:
        ConfigurationError: A limit is below 1.
    """

    file_bytes: int = 4 * 1024 * 1024
    body_chars: int = 100_000
    header_chars: int = 65_536
    header_nodes: int = 2_000
    header_depth: int = 16
    description_chars: int = 1_024
    name_chars: int = 64
    walk_depth: int = 12
    walk_folders: int = 200_000
    listed_entries: int = 20_000

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value < 1:
                raise ConfigurationError(f"Limit {item.name} is {value}.", "It must be 1 or more.")


DEFAULT_LIMITS = ReadLimits()


def limits_of(source: object) -> ReadLimits:
    """The bounds of reading that a source of skills has, else the default ones."""
    limits = getattr(source, "limits", None)
    return limits if isinstance(limits, ReadLimits) else DEFAULT_LIMITS
