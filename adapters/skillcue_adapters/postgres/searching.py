"""Candidates: both legs of all views, and the facts of what they find, in one SQL statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import errors

from skillcue_adapters.indexed.pruning import growth
from skillcue_adapters.postgres.facts import counts_of, sparse_query, term_hash
from skillcue_adapters.postgres.migrations import FILTERS, Connection, Names
from skillcue_adapters.postgres.reading import REVISION
from skillcue_adapters.postgres.records import plain_text, read_payload, sort_name
from skillcue_adapters.postgres.vectors import Longs, Reals, SparseVector, Vector, vectors_of
from skillcue_adapters.selection import FILTER_FIELDS
from skillcue_hooks.errors import ConfigurationError
from skillcue_hooks.skill_index import Candidate, IndexQuery, Legs, View

__all__ = ["find_candidates", "search_settings"]

SEARCH_WIDTH = (100, 1000)
"""Least and most candidates of a search in the vector index (``hnsw.ef_search``).

Among 34,000 skills and for a depth of 100, 100 find .979 of the best 20, 150 find .991 and 200 .994;
a search takes time in proportion.
"""

WIDER = 1.5
"""So many times the depth are the candidates of a search in the vector index."""

SCANNED = 100_000
"""Rows that a search in the vector index may pass by that belong to others or do not pass a filter
(``hnsw.max_scan_tuples``)."""


def search_settings(query: IndexQuery, skills: int) -> Mapping[str, str]:
    """Settings of the transaction that `find_candidates` needs.

    Args:
        query: What is wanted.
        skills: How many there are, about.
    """
    least = max(WIDER * query.depth, SEARCH_WIDTH[0])
    width = min(round(growth(skills) * least), SEARCH_WIDTH[1])
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(width),
        "hnsw.max_scan_tuples": str(SCANNED),
    }


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
        """Rows: first revision and number of skills, then candidates: places by leg, facts."""
        cursor = connection.cursor(binary=True)
        cursor.execute(names.fill(self._statement()), self._parameters())
        return cursor.fetchall()

    def may_have_missed(self, rows: Sequence[Any]) -> bool:
        """The vector index was asked and gave up before it had enough."""
        skills = rows[0][1]
        if self._exact_up_to is None or skills <= self._exact_up_to:
            return False
        wanted = min(self._query.depth, skills)
        columns = [2 + 2 * n for n, view in enumerate(self._query.views) if view.vector is not None]
        return any(sum(1 for row in rows[1:] if row[c] is not None) < wanted for c in columns)

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
        nothing = ", ".join("null::bigint" for _ in legs)
        lowest = ", ".join(f"min({leg}) as {leg}" for leg in legs)
        return f"""with {", ".join(parts)},
            found as (
                select no, {lowest} from ({" union all ".join(columns)}) as u (no, {", ".join(legs)})
                group by no)
            select revision, skills, {nothing}, null::json, null::{{e}}.vector, null::bytea from scope
            union all
            select null, null, {places}, facts.payload, facts.emb, facts.facts
            from found join lateral (
                select payload, emb, facts from {{s}}.skill s where s.no = found.no offset 0
            ) facts on true"""

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
            terms = {**view.head, **view.body}
            values[f"terms{n}"] = Longs([term_hash(term) for term in terms])
            values[f"head{n}"] = Reals([view.head.get(term, 0.0) for term in terms])
            values[f"body{n}"] = Reals([view.body.get(term, 0.0) for term in terms])
            values[f"sparse{n}"] = SparseVector(sparse_query(view.head, view.body))
        return values


def _lexical(n: int, view: View) -> str:
    if not view.head and not view.body:
        return ""
    return f"""select no, place from {{s}}.lexical(
        %(terms{n})s::bigint[], %(head{n})s::real[], %(body{n})s::real[], %(sparse{n})s,
        %(depth)s::integer, %(postings)s::bigint,
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


def _legs(query: IndexQuery, rows: Sequence[Any]) -> Legs:
    legs = 2 * len(query.views)
    found = sorted(
        ((read_payload(row[-3]), row) for row in rows[1:]), key=lambda pair: pair[0].skill.id
    )
    held = [row for _, row in found]
    asked: dict[str, float] = {}
    for view in query.views:
        asked |= {**view.head, **view.body}
    counts = counts_of([row[-1] for row in held], list(asked))
    vectors = vectors_of([row[-2] for row in held])
    candidates = tuple(
        Candidate(
            record.skill, vector, own.head, own.body, own.head_length, own.body_length, record.name
        )
        for (record, _), vector, own in zip(found, vectors, counts, strict=True)
    )
    places = [
        [(row[c], k) for k, row in enumerate(held) if row[c] is not None]
        for c in range(2, 2 + legs)
    ]
    dense = (
        _nearest(view, [k for _, k in leg], vectors)
        for view, leg in zip(query.views, places[::2], strict=True)
    )
    lexical = (tuple(k for _, k in sorted(leg)) for leg in places[1::2])
    return Legs(candidates, tuple(dense), tuple(lexical), rows[0][0])


def _nearest(view: View, near: Sequence[int], vectors: npt.NDArray[np.float32]) -> tuple[int, ...]:
    """A dense leg in the order of exact products, which the vector index only comes close to."""
    if not near:
        return ()
    places = np.array(near)
    products = vectors[places] @ np.asarray(view.vector, dtype=np.float32)
    return tuple(places[np.argsort(-products, kind="stable")].tolist())
