"""Every bound on what a source brings onto the disk, in one place, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass, fields

from skillcue_hooks.errors import ConfigurationError

__all__ = ["DEFAULT_FETCH_LIMITS", "FetchLimits"]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Bounds of fetching; a source that breaks one is refused as a whole.

    Attributes:
        files: Files and links of one source; rows of a database.
        file_bytes: Bytes of one file, unpacked.
        total_bytes: Bytes of all files together, unpacked.
        download_bytes: Bytes that come over the network or lie in an archive, packed.
        ratio: Bytes unpacked for one byte packed, looked at from one MiB on.
        path_chars: Characters of a path inside the source.
        seconds: Time that one fetch may take.

    Raises:
        ConfigurationError: A limit is not above 0.
    """

    files: int = 20_000
    file_bytes: int = 32 * 1024 * 1024
    total_bytes: int = 256 * 1024 * 1024
    download_bytes: int = 256 * 1024 * 1024
    ratio: int = 200
    path_chars: int = 512
    seconds: float = 60.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not value > 0:
                raise ConfigurationError(f"Limit {item.name} is {value}.", "It must be above 0.")


DEFAULT_FETCH_LIMITS = FetchLimits()
