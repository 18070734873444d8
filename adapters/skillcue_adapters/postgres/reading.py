"""Everything that is read of an index but candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skillcue_adapters.postgres.connections import Connections
from skillcue_adapters.postgres.facts import term_hash, unpacked
from skillcue_adapters.postgres.migrations import Connection, Names
from skillcue_adapters.postgres.records import (
    decoded,
    from_bytes,
    plain_text,
    read_payload,
    sort_name,
    to_bytes,
)
from skillcue_adapters.postgres.vectors import Longs, vectors_of
from skillcue_hooks.contracts import Skill
from skillcue_hooks.skill_index import IndexedSkill, IndexStatistics, TermFrequency

__all__ = ["REVISION", "Reader"]

BATCH = 500
"""Skills that are read at a time when all are walked."""

REVISION = """encode(sha256(convert_to(coalesce(
    string_agg(tenant || ' ' || revision, ',' order by tenant), ''), 'UTF8')), 'hex')"""
"""Of the rows of ``library`` that are looked at; a tenant that never had a skill counts for nothing."""

_SKILL = "s.payload, c.body, c.text"
_FROM = "from {s}.skill s join {s}.content c on c.no = s.no"


class Reader:
    """Reads an index.

    Args:
        connections: To its database.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def encoder(self) -> tuple[str, int]:
        """Fingerprint and length of the vectors; ``("", 0)`` where there are none."""
        rows = self._rows(
            "select encoder, dim from {s}.encoder where {s}.holds_skills()", {}, tenants=[]
        )
        return (rows[0][0], rows[0][1]) if rows else ("", 0)

    def revision(self, tenants: Sequence[str]) -> str:
        """See `SkillIndex.revision`."""
        query = f"select {REVISION} from {{s}}.library where tenant = any(%(tenants)s)"
        return str(self._rows(query, {}, tenants)[0][0])

    def statistics(self, tenants: Sequence[str]) -> IndexStatistics:
        """See `SkillIndex.statistics`."""
        query = f"""
            with counted as (
                select sum(head)::bigint as head, sum(body)::bigint as body
                from {{s}}.term_count where tenant = any(%(tenants)s) group by term
            )
            select coalesce(sum(skills), 0)::bigint, coalesce(sum(bodies), 0)::bigint,
                coalesce(sum(head_terms), 0)::bigint, coalesce(sum(body_terms), 0)::bigint,
                array(select array[head, count(*)] from counted where head > 0 group by head),
                array(select array[body, count(*)] from counted where body > 0 group by body),
                {REVISION}
            from {{s}}.library where tenant = any(%(tenants)s)"""
        skills, bodies, head_terms, body_terms, heads, in_bodies, revision = self._rows(
            query, {}, tenants
        )[0]
        return IndexStatistics(
            skills, bodies, head_terms, body_terms, dict(heads), dict(in_bodies), revision
        )

    def frequencies(
        self, terms: Sequence[str], tenants: Sequence[str]
    ) -> Mapping[str, TermFrequency]:
        """See `SkillIndex.frequencies`."""
        words = {term_hash(term): term for term in terms}
        query = """select term, sum(head)::bigint, sum(body)::bigint, sum(either)::bigint
            from {s}.term_count
            where tenant = any(%(tenants)s) and term = any(%(terms)s::bigint[]) group by term"""
        rows = self._rows(query, {"terms": Longs(list(words))}, tenants)
        return {words[term]: TermFrequency(*counts) for term, *counts in rows}

    def sample(self, count: int, tenants: Sequence[str]) -> list[IndexedSkill]:
        """See `SkillIndex.sample`."""
        query = f"""
            select {_SKILL}, s.key, s.facts, s.emb from (
                select near.no from unnest(%(tenants)s::text[]) own
                cross join lateral (
                    select no, key, id from {{s}}.skill
                    where tenant = own and searchable order by key, id limit %(count)s
                ) near order by near.key, near.id limit %(count)s
            ) drawn join {{s}}.skill s on s.no = drawn.no join {{s}}.content c on c.no = s.no
            order by s.key, s.id"""

        def work(connection: Connection, names: Names) -> tuple[Any, Mapping[int, str]]:
            parameters = {"count": count, "tenants": list(tenants)}
            rows = _fetched(connection, names.fill(query), parameters)
            facts = unpacked(b"".join(row[4] for row in rows))
            return rows, _words(connection, names, np.unique(facts["term"]), tenants)

        rows, words = self._connections.read(tenants, work)
        return [_indexed(row, words) for row in rows]

    def fetch(self, ids: Sequence[str], tenants: Sequence[str]) -> Mapping[str, Skill]:
        """See `SkillIndex.fetch`."""
        query = f"select {_SKILL} {_FROM} where s.tenant = any(%(tenants)s) and s.id = any(%(ids)s)"
        rows = self._rows(query, {"ids": [plain_text(i) for i in ids]}, tenants)
        return {skill.id: skill for skill in (decoded(*row) for row in rows)}

    def named(self, names: Sequence[str], tenants: Sequence[str]) -> list[Skill]:
        """See `SkillIndex.named`."""
        query = f"""select {_SKILL} {_FROM}
            where s.tenant = any(%(tenants)s) and s.no in (
                select no from {{s}}.skill_name
                where tenant = any(%(tenants)s) and name = any(%(names)s))
            order by array_position(%(tenants)s::text[], s.tenant), s.no"""
        rows = self._rows(query, {"names": [sort_name(name) for name in names]}, tenants)
        wanted = set(names)  # those that only begin alike are found as well
        return [decoded(*row) for row in rows if wanted & set(read_payload(row[0]).names)]

    def page(
        self, after: tuple[str, str] | None, limit: int, tenants: Sequence[str]
    ) -> list[Skill]:
        """See `SkillIndex.page`; without bodies."""
        behind = "" if after is None else "and (sort_name, id) > (%(name)s, %(id)s)"
        query = f"""select near.payload from unnest(%(tenants)s::text[]) own
            cross join lateral (
                select payload, sort_name, id from {{s}}.skill
                where tenant = own and searchable {behind}
                order by sort_name, id limit %(limit)s
            ) near order by near.sort_name, near.id limit %(limit)s"""
        parameters: dict[str, Any] = {"limit": limit}
        if after is not None:
            parameters |= {"name": sort_name(after[0]), "id": plain_text(after[1])}
        rows = self._rows(query, parameters, tenants)
        return [read_payload(payload).skill for (payload,) in rows]

    def iterate(self, tenants: Sequence[str]) -> Iterator[Skill]:
        """See `SkillIndex.iterate`; without bodies, one short transaction a batch."""
        query = """select near.payload, near.id from unnest(%(tenants)s::text[]) own
            cross join lateral (
                select payload, id from {s}.skill where tenant = own and id > %(after)s
                order by id limit %(limit)s
            ) near order by near.id limit %(limit)s"""
        after = ""
        while rows := self._rows(query, {"after": after, "limit": BATCH}, tenants):
            yield from (read_payload(payload).skill for payload, _ in rows)
            after = rows[-1][1]

    def text(self, skill_id: str, tenants: Sequence[str]) -> str:
        """See `SkillIndex.read_text`."""
        query = f"select c.text {_FROM} where s.tenant = any(%(tenants)s) and s.id = %(id)s"
        return from_bytes(self._one(query, {"id": plain_text(skill_id)}, tenants, skill_id))

    def files(self, skill_id: str, tenants: Sequence[str]) -> Mapping[str, int]:
        """See `SkillIndex.files`."""
        query = """select f.path, octet_length(f.data)
            from {s}.skill s join {s}.file f on f.no = s.no
            where s.tenant = any(%(tenants)s) and s.id = %(id)s order by f.path"""
        rows = self._rows(query, {"id": plain_text(skill_id)}, tenants)
        return {from_bytes(path): size for path, size in rows}

    def file(self, skill_id: str, path: str, tenants: Sequence[str]) -> bytes:
        """See `SkillIndex.read_file`."""
        query = """select f.data from {s}.skill s join {s}.file f on f.no = s.no
            where s.tenant = any(%(tenants)s) and s.id = %(id)s and f.path = %(path)s"""
        parameters = {"id": plain_text(skill_id), "path": to_bytes(path)}
        return bytes(self._one(query, parameters, tenants, f"{skill_id}: {path}"))

    def _one(self, query: str, parameters: dict[str, Any], tenants: Sequence[str], key: str) -> Any:
        rows = self._rows(query, parameters, tenants)
        if not rows:
            raise KeyError(key)
        return rows[0][0]

    def _rows(self, query: str, parameters: dict[str, Any], tenants: Sequence[str]) -> list[Any]:
        whole = {**parameters, "tenants": list(tenants)}
        return self._connections.read(
            tenants, lambda connection, names: _fetched(connection, names.fill(query), whole)
        )


def _fetched(connection: Connection, query: str, parameters: dict[str, Any]) -> list[Any]:
    cursor = connection.cursor(binary=True)
    return cursor.execute(query, parameters).fetchall()


def _words(
    connection: Connection, names: Names, terms: npt.NDArray[np.int64], tenants: Sequence[str]
) -> Mapping[int, str]:
    query = names.fill(
        "select distinct on (term) term, word from {s}.term_count"
        " where tenant = any(%(tenants)s) and term = any(%(terms)s::bigint[])"
    )
    parameters = {"tenants": list(tenants), "terms": Longs(terms.tolist())}
    return {term: from_bytes(word) for term, word in _fetched(connection, query, parameters)}


def _indexed(row: Any, words: Mapping[int, str]) -> IndexedSkill:
    payload, body, text, key, data, vector = row
    facts = unpacked(data)
    record = read_payload(payload)
    spelled = [words[term] for term in facts["term"].tolist()]
    counts = {name: zip(spelled, facts[name].tolist(), strict=True) for name in ("head", "body")}
    return IndexedSkill(
        skill=decoded(payload, body, text),
        text="",
        head={word: count for word, count in counts["head"] if count},
        body={word: count for word, count in counts["body"] if count},
        name=record.name,
        names=record.names,
        key=key,
        vector=vectors_of([vector])[0],
    )
