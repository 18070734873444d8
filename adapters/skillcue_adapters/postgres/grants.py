"""What a role needs to read an index, and no more."""

from __future__ import annotations

from skillcue_adapters.postgres.connections import Connections
from skillcue_adapters.postgres.migrations import SECURED, quoted

__all__ = ["grant_reading"]


def grant_reading(connections: Connections, role: str) -> None:
    """Let `role` read: rows of the tenants that a transaction is about, and no others."""
    schema, to = quoted(connections.schema), quoted(role)
    tables = ", ".join(f"{schema}.{table}" for table in (*SECURED, "encoder", "migration"))
    with connections.explained(), connections.connect() as connection, connection.transaction():
        connection.execute(f"grant usage on schema {schema} to {to}")
        connection.execute(f"grant select on {tables} to {to}")
        for function in ("lexical", "holds_skills"):
            connection.execute(f"grant execute on function {schema}.{function} to {to}")
