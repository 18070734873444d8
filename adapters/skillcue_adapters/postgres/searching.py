"""Candidates: both legs of all views, and the facts of what they find, in one SQL statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import errors

from skillcue_adapters.postgres.facts import counts_of, sparse_query, term_hash
from skillcue_adapters.postgres.migrations import FILTERS, Connection, Names
from skillcue_adapters.postgres.reading import REVISION
from skillcue_adapters.postgres.records import plain_text, read_payload, sort_name
from skillcue_adapters.postgres.vectors import SparseVector, Vector, vectors_of
from skillcue_adapters.selection import FILTER_FIELDS
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import Candidate, IndexQuery, Legs, View

__all__ = ["find_candidates"]

SEARCH_WIDTH = (100, 1000)
"""Least and most candidates of a search in the vector index (``hnsw.ef_search``)."""

SCANNED = 100_000
"""Rows that a search in the vector index may pass by that belong to others or do not pass a filter
(``hnsw.max_scan_tuples``)."""


def find_candidates(
    connection: Connection, names: Names, query: IndexQuery, exact_up_to: int
) -> Legs:
    """See `SkillIndex.candidates`.

    Args:
        connection: In a transaction that sees the tenants.
        names: For SQL.
        query: What is wanted.
        exact_up_to: In a library of more skills the dense leg comes from the vector index.

    Raises:
        ConfigurationError: A filter is unknown, or vectors have another length than those stored.
    """
    search = _Search(query, exact_up_to)
    try:
        rows = search.run(connection, names)
        if search.may_have_missed(rows):
            rows = _Search(query, None).run(connection, names)
    except errors.DataException as error:
        raise ConfigurationError(
            f"The index cannot compare vectors: {error.diag.message_primary}.",
            "Use the encoder it was published with.",
        ) from error
    return _legs(query, rows)


class _Search:
    """One statement and its parameters.

    Args:
        query: What is wanted.
        exact_up_to: See `find_candidates`; None never asks the vector index.
    """

    def __init__(self, query: IndexQuery, exact_up_to: int | None) -> None:
        self._query = query
        self._exact_up_to = exact_up_to
        self._filters = _filter_values(query.filters)
        self._where = ""
        if query.filters:
            self._where = f"and {_bound(FILTERS)}"

    def run(self, connection: Connection, names: Names) -> list[Any]:
        """Rows: revision, skills, places by leg, and the facts; without candidates one row."""
        width = min(max(2 * self._query.depth, SEARCH_WIDTH[0]), SEARCH_WIDTH[1])
        connection.execute(
            "select set_config('hnsw.iterative_scan', 'relaxed_order', true),"
            " set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true)",
            [str(width), str(SCANNED)],
        )
        cursor = connection.cursor(binary=True)
        cursor.execute(names.fill(self._statement()), self._parameters())
        return cursor.fetchall()

    def may_have_missed(self, rows: Sequence[Any]) -> bool:
        """The vector index was asked and gave up before it had enough."""
        if self._exact_up_to is None or rows[0][1] <= self._exact_up_to:
            return False
        wanted = min(self._query.depth, rows[0][1])
        columns = [2 + 2 * n for n, view in enumerate(self._query.views) if view.vector is not None]
        return any(sum(1 for row in rows if row[c] is not None) < wanted for c in columns)

    def _statement(self) -> str:
        parts = [
            f"""scope as materialized (
                select {REVISION} as revision, coalesce(sum(skills), 0)::bigint as skills
                from {{s}}.library where tenant = any(%(tenants)s))"""
        ]
        unions = []
        legs = [f"{leg}{n}" for n in range(len(self._query.views)) for leg in ("dense", "lexical")]
        for n, view in enumerate(self._query.views):
            for leg, text in (
                (f"dense{n}", self._dense(n, view)),
                (f"lexical{n}", _lexical(n, view)),
            ):
                if text:
                    parts.append(f"{leg} as materialized ({text})")
                    unions.append((leg, f"from {leg}"))
        if any(view.names for view in self._query.views):
            parts.append(f"named as materialized ({self._named()})")
            unions.append(("", "from named"))
        if not unions:
            unions.append(("", "from (select null::bigint as no where false) nothing"))
        columns = [
            f"select no, {', '.join('place' if own == leg else 'null::bigint' for leg in legs)} {table}"
            for own, table in unions
        ]
        places = ", ".join(f"found.{leg}" for leg in legs)
        lowest = ", ".join(f"min({leg}) as {leg}" for leg in legs)
        return f"""with {", ".join(parts)},
            found as (
                select no, {lowest} from ({" union all ".join(columns)}) as u (no, {", ".join(legs)})
                group by no)
            select scope.revision, scope.skills, {places}, facts.id, facts.payload, facts.emb,
                facts.facts, facts.head_length, facts.body_length
            from scope left join (found join lateral (
                select * from {{s}}.skill s where s.no = found.no offset 0
            ) facts on true) on true"""

    def _dense(self, n: int, view: View) -> str:
        if view.vector is None:
            return ""
        start = f"""select s.no from {{s}}.skill s
            where s.searchable and s.tenant = any(%(tenants)s) {self._where}"""
        exact = f"order by s.emb {{ip}} %(vector{n})s, s.id limit %(depth)s"
        if self._exact_up_to is None:
            return f"select no, row_number() over () as place from ({start} {exact}) near"
        half = f"{{e}}.halfvec({len(view.vector)})"
        small = "(select skills <= %(exact_up_to)s from scope)"
        return f"""select no, row_number() over () as place from (
            ({start} and {small} {exact})
            union all
            ({start} and not {small}
             order by (s.emb::{half}) {{ip}} %(vector{n})s::{half} limit %(depth)s)
        ) near"""

    def _named(self) -> str:
        return f"""select s.no from {{s}}.skill s
            where s.searchable and s.tenant = any(%(tenants)s) and s.name = any(%(names)s)
            {self._where} order by s.id limit %(depth)s"""

    def _parameters(self) -> dict[str, Any]:
        query = self._query
        values: dict[str, Any] = {
            "tenants": list(query.tenants),
            "depth": query.depth,
            "postings": query.postings,
            "exact_up_to": self._exact_up_to,
            "names": sorted({sort_name(name) for view in query.views for name in view.names}),
            **self._filters,
        }
        for n, view in enumerate(query.views):
            if view.vector is not None:
                values[f"vector{n}"] = Vector(view.vector)
            values[f"terms{n}"] = [term_hash(term) for term in {**view.head, **view.body}]
            values[f"sparse{n}"] = SparseVector(sparse_query(view.head, view.body))
        return values


def _lexical(n: int, view: View) -> str:
    if not view.head and not view.body:
        return ""
    return f"""select no, place from {{s}}.lexical(
        %(terms{n})s::bigint[], %(sparse{n})s, %(depth)s::integer, %(postings)s::bigint,
        %(tags)s::text[], %(categories)s::text[], %(sources)s::text[], %(trusts)s::text[]
    ) with ordinality as hits (no, place)"""


def _bound(condition: str) -> str:
    """A condition over arguments of a function as one over parameters of a statement."""
    for name in ("tags", "categories", "sources", "trusts"):
        condition = condition.replace(f"wanted_{name}", f"%({name})s::text[]")
    return condition


def _filter_values(filters: Sequence[tuple[str, str]]) -> dict[str, list[str] | None]:
    columns = {"tag": "tags", "category": "categories", "source": "sources", "trust": "trusts"}
    values: dict[str, list[str] | None] = dict.fromkeys(columns.values())
    for name, value in filters:
        if name not in columns:
            raise ConfigurationError(
                f"Skills cannot be filtered by {name!r}.",
                f"Fields: {', '.join(sorted(FILTER_FIELDS))}.",
            )
        wanted = plain_text(value.strip("/") if name == "category" else value)
        values[columns[name]] = [*(values[columns[name]] or []), wanted]
    return values


@dataclass(frozen=True, slots=True)
class _Found:
    """Columns of the rows."""

    candidates: tuple[Candidate, ...]
    vectors: npt.NDArray[np.float32]


def _legs(query: IndexQuery, rows: Sequence[Any]) -> Legs:
    revision = rows[0][0]
    legs = 2 * len(query.views)
    held = sorted((row[2:] for row in rows if row[2 + legs] is not None), key=lambda r: r[legs])
    found = _found(query, [row[legs:] for row in held])
    dense, lexical = [], []
    for n, view in enumerate(query.views):
        places = [(row[2 * n + 1], k) for k, row in enumerate(held) if row[2 * n + 1] is not None]
        lexical.append(tuple(k for _, k in sorted(places)))
        near = np.array([k for k, row in enumerate(held) if row[2 * n] is not None], dtype=np.int64)
        dense.append(_nearest(view, near, found.vectors))
    return Legs(found.candidates, tuple(dense), tuple(lexical), revision)


def _nearest(
    view: View, near: npt.NDArray[np.int64], vectors: npt.NDArray[np.float32]
) -> tuple[int, ...]:
    """A dense leg in the order of exact products, which the vector index only comes close to."""
    if not len(near):
        return ()
    products = vectors[near] @ np.asarray(view.vector, dtype=np.float32)
    return tuple(near[np.argsort(-products, kind="stable")].tolist())


def _found(query: IndexQuery, rows: Sequence[Any]) -> _Found:
    asked: Mapping[str, float] = {}
    for view in query.views:
        asked = {**asked, **view.head, **view.body}
    counts = counts_of([row[3] for row in rows], list(asked))
    vectors = vectors_of([row[2] for row in rows])
    candidates = []
    for row, vector, (head, body) in zip(rows, vectors, counts, strict=True):
        record = read_payload(row[1])
        candidates.append(Candidate(record.skill, vector, head, body, row[4], row[5], record.name))
    return _Found(tuple(candidates), vectors)
