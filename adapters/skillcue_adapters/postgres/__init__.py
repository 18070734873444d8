"""A library on PostgreSQL with pgvector, shared by many processes. Needs the extra ``postgres``.

=============== ==================================================================================
module          what it does
=============== ==================================================================================
`.index`        `PostgresIndex`, the `SkillIndex`
`.connections`  a pool of connections, opened on first use, and what their errors mean
`.parameters`   those of a url: what libpq does not know is named
`.migrations`   the tables, their policies, and how a database gets them
`.records`      skills as rows
`.facts`        term counts as rows: packed for scoring, sparse vectors for finding
`.writing`      changes
`.searching`    candidates, in one statement
`.reading`      everything else that is read
`.listening`    news of changes
=============== ==================================================================================
"""

from __future__ import annotations

from skillcue_hooks.errors import MissingExtraError

try:
    from skillcue_adapters.postgres.index import PostgresIndex
except ImportError as error:
    if (error.name or "").split(".")[0] not in ("psycopg", "psycopg_pool"):
        raise
    raise MissingExtraError("psycopg", "postgres") from error

__all__ = ["PostgresIndex"]
