"""`PostgresIndex`: a library on PostgreSQL with pgvector."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from skillcue_adapters.locks import ForkSafeLock
from skillcue_adapters.postgres.connections import Connections, Limits
from skillcue_adapters.postgres.grants import grant_reading
from skillcue_adapters.postgres.listening import Listener
from skillcue_adapters.postgres.parameters import check_parameters
from skillcue_adapters.postgres.reading import Reader
from skillcue_adapters.postgres.records import check_tenant
from skillcue_adapters.postgres.searching import find_candidates, search_settings
from skillcue_adapters.postgres.writing import Change, apply_change
from skillcue_hooks.contracts import Skill
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import (
    IndexedSkill,
    IndexQuery,
    IndexStatistics,
    Legs,
    TermFrequency,
)

__all__ = ["PostgresIndex"]

REMEMBERED_SIZES = 1000
"""Sets of tenants whose number of skills is remembered."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,50}")


class PostgresIndex:
    """A `skillcue_hooks.skill_index.SkillIndex` in one schema of a PostgreSQL database.

    Nothing is connected to before the first use. Needs PostgreSQL 15 and pgvector 0.8 or newer.
    Safe to share between threads, and to use in a forked child.

    Args:
        url: ``postgresql://user:password@host:port/database``, or anything libpq takes.
        schema: Of the tables; made where it is missing. Small letters, digits and underscores.
        auto_migrate: Bring the tables up to date on first use; False raises instead.
        connections: Most connections of this process, 1 to 1000; one more where it listens.
        wait_s: Longest wait for a connection, seconds.
        read_s: Longest time a read may take, seconds.
        write_s: Longest time one statement of a change may take, seconds.
        exact_up_to: The skills of libraries up to so many are all compared with a query's vector;
            in larger ones the vector index finds the nearest, of which it misses few. 0 or more.

    Raises:
        ConfigurationError: The url, the schema or a number cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "skillcue",
        auto_migrate: bool = True,
        connections: int = 8,
        wait_s: float = 5.0,
        read_s: float = 10.0,
        write_s: float = 600.0,
        exact_up_to: int = 5000,
    ) -> None:
        if not _SCHEMA.fullmatch(schema):
            raise ConfigurationError(
                f"{schema!r} cannot be the name of a schema.",
                "Use up to 51 small letters, digits and underscores, no digit first.",
            )
        numbers = {"wait_s": wait_s, "read_s": read_s, "write_s": write_s}
        for name, seconds in numbers.items():
            if not 0.0 < seconds <= 86_400.0:
                raise ConfigurationError(f"{name} cannot be {seconds!r}.", "Give seconds above 0.")
        if not 1 <= connections <= 1000 or exact_up_to < 0:
            raise ConfigurationError(
                f"connections={connections!r}, exact_up_to={exact_up_to!r} cannot be used.",
                "Give 1 to 1000 connections, and 0 skills or more.",
            )
        check_parameters(url)
        limits = Limits(connections, wait_s, read_s, write_s)
        self._exact_up_to = exact_up_to
        self._connections = Connections(url, schema, limits, auto_migrate)
        self._reader = Reader(self._connections)
        self._lock = ForkSafeLock()
        self._listeners: list[Listener] = []
        self._sizes: dict[tuple[str, ...], int] = {}

    def __repr__(self) -> str:
        return f"PostgresIndex({self.location!r}, schema={self._connections.schema!r})"

    @property
    def location(self) -> str:
        """Where it is, without a password."""
        return self._connections.location

    @property
    def encoder(self) -> str:
        """Fingerprint of the encoder whose vectors it holds; empty as long as it is empty."""
        return self._reader.encoder()[0]

    @property
    def dim(self) -> int:
        """Length of a vector; 0 as long as it is empty."""
        return self._reader.encoder()[1]

    def migrate(self) -> None:
        """Bring the tables up to date; does nothing where they are.

        Raises:
            ConfigurationError: They are newer than this skillcue, server or pgvector are too old,
                or this user may not.
            IndexUnavailableError: It cannot be reached.
        """
        self._connections.migrate()

    def grant(self, role: str) -> None:
        """Let a role of the database read, and nothing else; policies hold for it.

        Raises:
            ConfigurationError: There is no such role, or this user may not.
            IndexUnavailableError: It cannot be reached.
        """
        grant_reading(self._connections, role)

    def apply(
        self,
        upserts: Sequence[IndexedSkill],
        deletes: Sequence[str] = (),
        *,
        tenant: str,
        encoder: str,
    ) -> str:
        """See `SkillIndex.apply`. All of `upserts` is in memory and in one transaction at a time."""
        change = Change.of(upserts, deletes, check_tenant(tenant), encoder)
        return self._connections.write(tenant, lambda c, names: apply_change(c, names, change))

    def candidates(self, query: IndexQuery) -> Legs:
        """See `SkillIndex.candidates`: one SQL statement.

        Terms that are worth most to a skill that holds them come first. A term is looked for as long
        as it and those before it are held by no more skills than ``query.postings``, or those before
        it by fewer than ``query.depth``. Where the vector index gives fewer than the depth, a second
        statement compares all vectors.
        """
        return self._connections.read(
            query.tenants,
            lambda c, names: find_candidates(c, names, query, self._exact_up_to),
            search_settings(query, self._sizes.get(query.tenants, 0)),
        )

    def statistics(self, tenants: Sequence[str]) -> IndexStatistics:
        """See `SkillIndex.statistics`."""
        found = self._reader.statistics(tenants)
        if len(self._sizes) >= REMEMBERED_SIZES:
            self._sizes = {}
        self._sizes[tuple(tenants)] = found.skills
        return found

    def frequencies(
        self, terms: Sequence[str], tenants: Sequence[str]
    ) -> Mapping[str, TermFrequency]:
        """See `SkillIndex.frequencies`."""
        return self._reader.frequencies(terms, tenants)

    def sample(self, count: int, tenants: Sequence[str]) -> Sequence[IndexedSkill]:
        """See `SkillIndex.sample`."""
        return self._reader.sample(count, tenants)

    def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
        """See `SkillIndex.fetch`."""
        return self._reader.fetch(ids, tenants)

    def named(self, names: Sequence[str], tenants: Sequence[str]) -> Sequence[Skill]:
        """See `SkillIndex.named`."""
        return self._reader.named(names, tenants)

    def page(
        self, after: tuple[str, str] | None, limit: int, tenants: Sequence[str]
    ) -> Sequence[Skill]:
        """See `SkillIndex.page`; sorted by the first 100 characters of a name."""
        return self._reader.page(after, limit, tenants)

    def iterate(self, tenants: Sequence[str]) -> Iterator[Skill]:
        """See `SkillIndex.iterate`; each batch is of the state at its time."""
        return self._reader.iterate(tenants)

    def read_text(self, skill_id: str, tenants: Sequence[str]) -> str:
        """See `SkillIndex.read_text`."""
        return self._reader.text(skill_id, tenants)

    def files(self, skill_id: str, tenants: Sequence[str]) -> Mapping[str, int]:
        """See `SkillIndex.files`."""
        return self._reader.files(skill_id, tenants)

    def read_file(self, skill_id: str, path: str, tenants: Sequence[str]) -> bytes:
        """See `SkillIndex.read_file`."""
        return self._reader.file(skill_id, path, tenants)

    def revision(self, tenants: Sequence[str]) -> str:
        """See `SkillIndex.revision`."""
        return self._reader.revision(tenants)

    def listen(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """See `SkillIndex.listen`: a connection and a thread more, in a forked child as well.

        Returns once it listens, or after `wait_s` where the server is away; then it goes on trying.
        """
        listener = Listener(self._connections, changed)
        listener.wait_listening(self._connections.wait_s)
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            listener.end()
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end

    def close(self) -> None:
        """Release connections and end listeners; the index must not be used afterwards."""
        with self._lock:
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.end()
        self._connections.close()
