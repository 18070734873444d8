"""Changes of a tenant's skills: one transaction, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import errors

from skillcue_adapters.postgres.facts import (
    FACTS,
    Averages,
    Facts,
    Saturation,
    packed,
    slots_of,
    sparse_row,
    term_hash,
    unpacked,
)
from skillcue_adapters.postgres.migrations import Connection, Names
from skillcue_adapters.postgres.reading import REVISION
from skillcue_adapters.postgres.records import (
    check_id,
    digest_of,
    plain_text,
    sort_name,
    to_bytes,
    to_payload,
)
from skillcue_adapters.postgres.vectors import SparseVector, Vector
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import IndexedSkill

__all__ = ["Change", "apply_change"]

LEAST_ESTIMATED = 250
"""Below twice so many skills of a tenant the planner's estimates do not matter."""

DRIFT = 0.05
"""Sparse vectors are made anew when the mean length of heads or bodies has moved by this share since
they were made: until then scores by which candidates are found are off by less."""

BATCH = 1000
"""Sparse vectors that are made anew at a time."""

BUILD_WIDTH = 128
"""Candidates of a place in the vector index (``ef_construction``); against the 64 of pgvector a search
of the same time misses a third fewer, and filling the index takes a quarter longer."""

MOST_DIMENSIONS = 4000
"""Numbers that pgvector can index of one vector, at half precision."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is stored and deleted.

    Attributes:
        tenant: Whose.
        encoder: Fingerprint of the vectors' encoder.
        upserts: By id.
        deletes: Ids that are not among `upserts`.
    """

    tenant: str
    encoder: str
    upserts: Mapping[str, IndexedSkill]
    deletes: frozenset[str]

    @classmethod
    def of(
        cls, upserts: Sequence[IndexedSkill], deletes: Sequence[str], tenant: str, encoder: str
    ) -> Change:
        """Of skills with the same id the last is stored, and what is stored is not deleted.

        Raises:
            ConfigurationError: Vectors differ in length or are too long, or an id cannot be stored.
        """
        stored = {check_id(item.skill.id): item for item in upserts}
        lengths = {len(item.vector) for item in upserts}
        if len(lengths) > 1:
            raise ConfigurationError(
                f"Vectors of {' and '.join(map(str, sorted(lengths)))} numbers cannot be stored"
                " together.",
                "Encode all skills with one encoder.",
            )
        if lengths and max(lengths) > MOST_DIMENSIONS:
            raise ConfigurationError(
                f"Vectors of {max(lengths)} numbers cannot be indexed.",
                f"Use an encoder of {MOST_DIMENSIONS} numbers at most.",
            )
        return cls(tenant, encoder, stored, frozenset(deletes) - stored.keys())


@dataclass(frozen=True, slots=True)
class _Held:
    """A skill as it is stored before the change."""

    no: int
    digest: bytes
    searchable: bool
    head_length: int
    body_length: int
    facts: Facts
    has_body: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """A skill that is to be stored."""

    no: int
    item: IndexedSkill
    digest: bytes
    facts: Facts
    head_length: int
    body_length: int


def apply_change(connection: Connection, names: Names, change: Change) -> str:
    """Make the change and tell listeners; gives the revision after it.

    Raises:
        ConfigurationError: Vectors of another encoder, or an id that belongs to another tenant.
    """
    writer = _Writer(connection, names, change)
    if change.upserts:
        writer.settle_encoder()
    writer.lock_library()
    held = writer.held()
    digests = {i: digest_of(item) for i, item in change.upserts.items()}
    changed = {i: None for i, d in digests.items() if i not in held or held[i].digest != d}
    gone = [row for i, row in held.items() if i in change.deletes or i in changed]
    if changed or gone:
        rows = writer.rows(list(changed), digests, held)
        writer.replace(gone, rows)
        writer.renew_estimates()
    return writer.revision()


class _Writer:
    def __init__(self, connection: Connection, names: Names, change: Change) -> None:
        self._connection = connection
        self._names = names
        self._change = change
        self._saturation = Saturation()
        self._averages = Averages(0.0, 0.0)

    def settle_encoder(self) -> None:
        """The index's encoder is that of the change from now on, or was before."""
        dim = len(next(iter(self._change.upserts.values())).vector)
        wanted = (self._change.encoder, dim)
        # Shared: writers of other tenants go on, and nobody can change the encoder meanwhile.
        if self._encoder("for share") == wanted:
            return
        self._run("lock table {s}.encoder in share row exclusive mode")
        known = self._encoder("for update")
        if known == wanted:
            return
        if known is not None and self._rows("select {s}.holds_skills()", {})[0][0]:
            raise ConfigurationError(
                f"The index holds vectors of encoder {known[0]!r} ({known[1]} numbers), not of"
                f" {wanted[0]!r} ({wanted[1]}).",
                "Use the encoder it was published with, or publish into another schema.",
            )
        self._run("drop index if exists {s}.skill_by_vector")
        # Deleted rows that an older transaction may still see would be indexed, and are too long.
        self._run("truncate {s}.skill cascade")
        self._run("delete from {s}.encoder")
        self._run(
            "insert into {s}.encoder (encoder, dim, k1, b) values (%s, %s, %s, %s)",
            [*wanted, self._saturation.k1, self._saturation.b],
        )
        self._run(
            f"create index skill_by_vector on {{s}}.skill using hnsw"
            f" ((emb::{{e}}.halfvec({dim})) {{e}}.halfvec_ip_ops)"
            f" with (ef_construction = {BUILD_WIDTH}) where searchable"
        )

    def lock_library(self) -> None:
        """From here on nobody else changes this tenant."""
        tenant = self._change.tenant
        self._run("insert into {s}.library (tenant) values (%s) on conflict do nothing", [tenant])
        rows = self._rows(
            "select head_average, body_average from {s}.library where tenant = %(tenant)s"
            " for update",
            {"tenant": tenant},
        )
        self._averages = Averages(*rows[0])

    def held(self) -> dict[str, _Held]:
        """What is stored under the ids of the change."""
        ids = [plain_text(i) for i in (*self._change.upserts, *self._change.deletes)]
        rows = self._rows(
            "select s.id, s.no, s.digest, s.searchable, s.head_length, s.body_length, s.facts,"
            " octet_length(coalesce(c.body, c.text)) > 0"
            " from {s}.skill s join {s}.content c on c.no = s.no"
            " where s.tenant = %(tenant)s and s.id = any(%(ids)s)",
            {"tenant": self._change.tenant, "ids": ids},
        )
        return {
            i: _Held(no, digest, searchable, head, body, unpacked(facts), has_body)
            for i, no, digest, searchable, head, body, facts, has_body in rows
        }

    def rows(
        self, ids: Sequence[str], digests: Mapping[str, bytes], held: Mapping[str, _Held]
    ) -> list[_Row]:
        """What is to be stored; a skill that is there keeps its place."""
        new = [i for i in ids if i not in held]
        numbers = self._rows(
            "select nextval(pg_get_serial_sequence(%(table)s, 'no'))"
            " from generate_series(1, %(count)s)",
            {"table": f"{self._names.schema}.skill", "count": len(new)},
        )
        places = dict(zip(new, (row[0] for row in numbers), strict=True))
        return [
            _Row(
                places[i] if i in places else held[i].no,
                item := self._change.upserts[i],
                digests[i],
                packed(item.head, item.body),
                sum(item.head.values()),
                sum(item.body.values()),
            )
            for i in ids
        ]

    def replace(self, gone: Sequence[_Held], rows: Sequence[_Row]) -> None:
        """Delete, store, count, and tell."""
        self._run("delete from {s}.skill where no = any(%s)", [[held.no for held in gone]])
        self._count(gone, rows)
        self._insert(rows)
        self._count_terms(gone, rows)
        tenant = self._change.tenant
        self._run("update {s}.library set revision = gen_random_uuid() where tenant = %s", [tenant])
        self._run("select pg_notify(%s, %s)", [self._names.channel, tenant])

    def renew_estimates(self) -> None:
        """Have the planner count again where a tenant has grown beyond what it knows.

        With the estimates of a small table it compares all vectors one by one instead of asking
        their index; the server itself counts only now and then.
        """
        query = """select l.skills, c.reltuples from {s}.library l, pg_class c
            where l.tenant = %(tenant)s and c.oid = '{s}.skill'::regclass"""
        [(skills, estimated)] = self._rows(query, {"tenant": self._change.tenant})
        if skills > 2 * max(estimated, LEAST_ESTIMATED):
            self._run("analyze {s}.skill (tenant, searchable, key, sort_name, name)")

    def revision(self) -> str:
        """The tenant's."""
        query = f"select {REVISION} from {{s}}.library where tenant = %(tenant)s"
        return str(self._rows(query, {"tenant": self._change.tenant})[0][0])

    def _count(self, gone: Sequence[_Held], rows: Sequence[_Row]) -> None:
        """Bring the counts up to date, and the lengths that sparse vectors are made for."""
        old = [held for held in gone if held.searchable]
        new = [row for row in rows if row.item.skill.searchable]
        deltas = (
            len(new) - len(old),
            sum(1 for row in new if row.item.skill.body) - sum(1 for held in old if held.has_body),
            sum(row.head_length for row in new) - sum(held.head_length for held in old),
            sum(row.body_length for row in new) - sum(held.body_length for held in old),
        )
        counts = self._rows(
            "update {s}.library set skills = skills + %(n)s, bodies = bodies + %(bodies)s,"
            " head_terms = head_terms + %(head)s, body_terms = body_terms + %(body)s"
            " where tenant = %(tenant)s returning skills, head_terms, body_terms",
            {
                "tenant": self._change.tenant,
                **dict(zip(("n", "bodies", "head", "body"), deltas, strict=True)),
            },
        )
        skills, head_terms, body_terms = counts[0]
        head, body = head_terms / max(skills, 1), body_terms / max(skills, 1)
        drifted = [_drifted(self._averages.head, head), _drifted(self._averages.body, body)]
        if not any(drifted):
            return
        self._averages = Averages(
            head if drifted[0] else self._averages.head, body if drifted[1] else self._averages.body
        )
        self._run(
            "update {s}.library set head_average = %s, body_average = %s where tenant = %s",
            [self._averages.head, self._averages.body, self._change.tenant],
        )
        self._make_vectors_anew(*drifted)

    def _make_vectors_anew(self, heads: bool, bodies: bool) -> None:
        """Of skills that have terms in a field whose mean length has moved."""
        query = self._names.fill(
            "select no, facts, head_length, body_length from {s}.skill"
            " where tenant = %s and searchable"
            " and ((%s and head_length > 0) or (%s and body_length > 0))"
        )
        update = self._names.fill("update {s}.lexicon set bm = %b::{e}.sparsevec where no = %s")
        with self._connection.cursor("lengths", binary=True) as walk:
            walk.itersize = BATCH
            walk.execute(query, [self._change.tenant, heads, bodies])
            while rows := walk.fetchmany(BATCH):
                self._many(
                    update,
                    [
                        (self._sparse(unpacked(facts), (head, body)), no)
                        for no, facts, head, body in rows
                    ],
                )

    def _sparse(self, facts: Facts, lengths: tuple[int, int]) -> SparseVector:
        return SparseVector(sparse_row(facts, lengths, self._averages, self._saturation))

    def _insert(self, rows: Sequence[_Row]) -> None:
        try:
            self._many(_INSERT_SKILL, [self._skill_values(row) for row in rows])
        except (errors.UniqueViolation, errors.InsufficientPrivilege) as error:
            if error.diag.constraint_name != "skill_id_key":
                raise
            # The detail names the id; row-level security hides it from all but a superuser.
            detail = f" {error.diag.message_detail}" if error.diag.message_detail else ""
            raise ConfigurationError(
                "Another tenant of the index has a skill of the id of one that is to be stored"
                f" for tenant {self._change.tenant!r}.{detail}",
                "Ids are name@tenant/path. Publish one of the two tenants into another schema; or give"
                " tenants names none of which begins another's path (not eu and eu/acme), and folders"
                " at the top of a library without a tenant names with which no tenant begins.",
            ) from error
        self._many(_INSERT_LEXICON, [self._lexicon_values(row) for row in rows])
        self._many(_INSERT_CONTENT, [self._content_values(row) for row in rows])
        tenant = self._change.tenant
        self._many(
            "insert into {s}.skill_name (no, tenant, name) values (%b, %b, %b)",
            [
                (row.no, tenant, name)
                for row in rows
                for name in dict.fromkeys(map(sort_name, row.item.names))
            ],
        )
        self._many(
            "insert into {s}.file (no, tenant, path, data) values (%b, %b, %b, %b)",
            [
                (row.no, tenant, to_bytes(path), data)
                for row in rows
                for path, data in row.item.files.items()
            ],
        )

    def _skill_values(self, row: _Row) -> tuple[Any, ...]:
        item, skill = row.item, row.item.skill
        return (
            row.no,
            skill.id,
            self._change.tenant,
            row.digest,
            skill.searchable,
            sort_name(item.name),
            sort_name(skill.name.casefold()),
            [plain_text(tag) for tag in skill.tags],
            plain_text(skill.category),
            plain_text(skill.source),
            skill.trust,
            item.key,
            to_payload(item),
            row.head_length,
            row.body_length,
            row.facts.tobytes(),
            Vector(np.asarray(item.vector, dtype=np.float32)),
        )

    def _lexicon_values(self, row: _Row) -> tuple[Any, ...]:
        facts = row.facts if row.item.skill.searchable else np.zeros(0, dtype=FACTS)
        slots = np.unique(slots_of(self._change.tenant, facts["term"]))
        lengths = (row.head_length, row.body_length)
        sparse = self._sparse(facts, lengths)
        return row.no, row.item.skill.id, self._change.tenant, slots.tolist(), sparse

    def _content_values(self, row: _Row) -> tuple[Any, ...]:
        body, text = row.item.skill.body, row.item.text
        kept = None if body == text else to_bytes(body)
        return row.no, self._change.tenant, kept, to_bytes(text)

    def _count_terms(self, gone: Sequence[_Held], rows: Sequence[_Row]) -> None:
        old = [held.facts for held in gone if held.searchable]
        new = [row for row in rows if row.item.skill.searchable]
        facts = np.concatenate([np.zeros(0, FACTS), *(row.facts for row in new), *old])
        sign = np.ones(len(facts), dtype=np.int64)
        sign[sum(len(row.facts) for row in new) :] = -1
        terms, own = np.unique(facts["term"], return_inverse=True)
        heads, bodies, either = (
            np.bincount(own, weights=sign * held, minlength=len(terms)).astype(np.int64)
            for held in (facts["head"] > 0, facts["body"] > 0, 1)
        )
        moved = np.flatnonzero((heads != 0) | (bodies != 0) | (either != 0))
        words = {term_hash(w): w for row in new for w in (*row.item.head, *row.item.body)}
        tenant = self._change.tenant
        # A term of skills that are gone is there already: its spelling is not inserted again.
        values = {
            "tenant": tenant,
            "terms": terms[moved].tolist(),
            "slots": slots_of(tenant, terms[moved]).tolist(),
            "words": [to_bytes(words.get(term, "")) for term in terms[moved].tolist()],
            "heads": heads[moved].tolist(),
            "bodies": bodies[moved].tolist(),
            "either": either[moved].tolist(),
        }
        self._run(_COUNT_TERMS, values)
        self._run(
            "delete from {s}.term_count where tenant = %(tenant)s and either <= 0"
            " and term = any(%(terms)s::bigint[])",
            {"tenant": tenant, "terms": terms[moved][either[moved] < 0].tolist()},
        )

    def _encoder(self, lock: str) -> tuple[str, int] | None:
        rows = self._rows(f"select encoder, dim, k1, b from {{s}}.encoder {lock}", {})
        if not rows:
            return None
        self._saturation = Saturation(*rows[0][2:])
        return rows[0][0], rows[0][1]

    def _run(self, query: str, parameters: Any = None) -> None:
        self._connection.execute(self._names.fill(query), parameters)

    def _rows(self, query: str, parameters: Mapping[str, Any]) -> list[Any]:
        cursor = self._connection.cursor(binary=True)
        cursor.execute(self._names.fill(query), parameters)
        return cursor.fetchall()

    def _many(self, query: str, values: Sequence[tuple[Any, ...]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(self._names.fill(query), values)


def _drifted(before: float, after: float) -> bool:
    return abs(after - before) > DRIFT * before


_INSERT_SKILL = """insert into {s}.skill (
        no, id, tenant, digest, searchable, name, sort_name, tags, category, source, trust, key,
        payload, head_length, body_length, facts, emb
    ) values (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %t::json, %b, %b, %b, %b)"""

_INSERT_LEXICON = """insert into {s}.lexicon (no, id, tenant, terms, bm)
    values (%b, %b, %b, %b, %b)"""

_INSERT_CONTENT = "insert into {s}.content (no, tenant, body, text) values (%b, %b, %b, %b)"

_COUNT_TERMS = """
    insert into {s}.term_count as known (tenant, term, slot, word, head, body, either)
    select %(tenant)s, * from unnest(
        %(terms)s::bigint[], %(slots)s::integer[], %(words)s::bytea[],
        %(heads)s::integer[], %(bodies)s::integer[], %(either)s::integer[])
    on conflict (tenant, term) do update set
        head = known.head + excluded.head,
        body = known.body + excluded.body,
        either = known.either + excluded.either"""
