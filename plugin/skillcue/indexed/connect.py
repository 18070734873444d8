"""What the user passes for an index: the object, some of its tenants, or the address of a server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import SkillIndex

__all__ = [
    "Connected",
    "IndexSpec",
    "Indexed",
    "check_tenant",
    "connect",
    "is_address",
    "is_index",
    "named_index",
    "one_tenant",
]

_ADDRESS = re.compile(r"(?P<scheme>postgres(?:ql)?)://(?P<rest>[^?#]*)(?:\?(?P<query>[^#]*))?")
_METHODS = ("apply", "candidates", "fetch", "named", "revision", "statistics")
_TENANT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Indexed:
    """Some tenants of an index, as the library of a `SkillCue`.

    Attributes:
        index: Holds the skills.
        tenants: Whose skills, earlier ones taking precedence where two have one name.
        label: Name shown for it.

    Raises:
        ConfigurationError: `index` is none, or a tenant is no text.
    """

    index: SkillIndex
    tenants: tuple[str, ...] = ("",)
    label: str = "index"

    def __post_init__(self) -> None:
        if not is_index(self.index):
            raise ConfigurationError(
                f"A {type(self.index).__name__} is no skill index.",
                "Pass an object with the methods of SkillIndex, such as MemoryIndex().",
            )
        if isinstance(self.tenants, str) or not isinstance(self.tenants, Sequence):
            raise ConfigurationError(
                f"tenants is {self.tenants!r}.", 'Pass several texts: tenants=("acme", "shared").'
            )
        for tenant in self.tenants:
            check_tenant(tenant)
        if not self.tenants or len(set(self.tenants)) < len(self.tenants):
            raise ConfigurationError(
                f"tenants is {self.tenants!r}.", "Name each tenant once, at least one."
            )
        object.__setattr__(self, "tenants", tuple(self.tenants))


IndexSpec = Indexed | SkillIndex
"""What stands for an index besides the address of a server."""


@dataclass(frozen=True, slots=True)
class Connected:
    """What `connect` gives; `owned` says that the index was opened here and is to be closed."""

    indexed: Indexed
    owned: bool


def connect(spec: Any, *, makes_tables: bool = True) -> Connected:
    """The index that `spec` stands for: an `Indexed`, a `SkillIndex`, or the address of a server.

    Nothing is asked of a server yet.

    Args:
        spec: What the user passed.
        makes_tables: A server without tables gets them when it is first asked.

    Raises:
        ConfigurationError: The address cannot be used.
        MissingExtraError: A package is missing.
    """
    if isinstance(spec, Indexed):
        return Connected(spec, owned=False)
    if is_index(spec):
        return Connected(Indexed(spec, label=type(spec).__name__), owned=False)
    return Connected(_opened(str(spec), makes_tables), owned=True)


def named_index(sources: Any) -> Any:
    """The one source that stands for an index; None where all sources are folders and the like.

    Raises:
        ConfigurationError: It stands beside other sources.
    """
    if _is_one(sources):
        return sources
    if isinstance(sources, str | bytes) or not isinstance(sources, Sequence):
        return None
    found = [source for source in sources if _is_one(source)]
    if not found:
        return None
    if len(sources) > 1:
        raise ConfigurationError(
            "An index stands beside other sources.",
            "Publish the others into it (`skillcue publish FOLDER --to ADDRESS --tenant NAME`), and "
            "name all tenants in one address: ?tenant=acme&tenant=shared.",
        )
    return found[0]


def one_tenant(indexed: Indexed, tenant: str | None) -> str:
    """Whose skills are published: `tenant`, else the one that `indexed` names.

    Raises:
        ConfigurationError: It names several, or another one.
    """
    named = indexed.tenants
    if tenant is None and len(named) > 1:
        raise ConfigurationError(
            f"The index is named with {len(named)} tenants.", "Publish for one of them: tenant=..."
        )
    if tenant is None or tenant in named or named == ("",):
        return named[0] if tenant is None else tenant
    raise ConfigurationError(
        f"The tenant is {tenant!r}, and the index is named with {', '.join(map(repr, named))}.",
        "Name one tenant, in one place.",
    )


def is_address(text: str) -> bool:
    """Whether it is the address of a server that holds an index."""
    return _ADDRESS.match(text) is not None


def is_index(thing: object) -> bool:
    """Whether it has the methods of `SkillIndex`; asks it for nothing."""
    kind = type(thing)
    return all(callable(getattr(kind, name, None)) for name in _METHODS)


def check_tenant(tenant: object) -> None:
    """Make sure that it can be the name of a tenant.

    Raises:
        ConfigurationError: It is no text, too long, or has characters that cannot be seen.
    """
    if (
        not isinstance(tenant, str)
        or len(tenant) > _TENANT_CHARS
        or not (tenant == "" or (tenant.isprintable() and tenant.strip() == tenant))
    ):
        raise ConfigurationError(
            f"{tenant!r} is no name of a tenant.",
            f"Use a text of at most {_TENANT_CHARS} characters that can all be seen.",
        )


def _is_one(source: Any) -> bool:
    if isinstance(source, str):
        return is_address(source)
    return isinstance(source, Indexed) or is_index(source)


def _opened(address: str, makes_tables: bool) -> Indexed:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ConfigurationError(
            "The address of the index cannot be read.",
            "Write postgresql://USER@HOST/DATABASE?tenant=NAME.",
        )
    tenants, schemas, others = _parameters(match["query"] or "")
    if len(schemas) > 1:
        raise ConfigurationError("The address names several schemas.", "Name one.")
    from skillcue_adapters.postgres import PostgresIndex  # only where used

    place = match["rest"].rpartition("@")[2]
    target = f"postgresql://{match['rest']}" + (f"?{'&'.join(others)}" if others else "")
    schema = schemas[0] if schemas else "skillcue"
    index = PostgresIndex(target, schema=schema, auto_migrate=makes_tables)
    return Indexed(index, tuple(tenants) or ("",), f"postgresql://{place}")


def _parameters(query: str) -> tuple[list[str], list[str], list[str]]:
    """Tenants, schemas, and what is the driver's own, as it is written."""
    tenants: list[str] = []
    schemas: list[str] = []
    others: list[str] = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        ours = {"tenant": tenants, "schema": schemas}.get(name)
        if ours is None:
            others.append(part)
        else:
            ours.append(unquote(value))
    return tenants, schemas, others
