"""A primary dies and its replica takes over: what is lost, and for how long nobody answers.

Run: ``python tests/bench/scale_replica.py [--skills 2000] [--json FILE]``. Two servers are started in
temporary folders, and removed afterwards.

A writer stores skills one by one, and a reader asks, both through an address that names both servers
(``target_session_attrs=read-write`` finds the one that takes writes). A change is acknowledged when
both servers have it. Then all processes of the primary are killed and the replica is promoted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.postgres_server import PostgresServer, Replica

from skillcue_adapters.postgres import PostgresIndex
from skillcue_hooks.errors import IndexUnavailableError
from skillcue_hooks.skill_index import IndexedSkill
from skillcue_hooks.testing import make_indexed

TENANT = "bench"
ENCODER = "made up"
LAGS = 50
"""Changes whose arrival at the replica is waited for."""
BEFORE_S = 3.0
"""Writing goes on for so long before the primary is killed, seconds."""
WAIT_S = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skills", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    primary = PostgresServer()
    try:
        primary.start()
        report = measure(primary, arguments.skills)
    finally:
        primary.remove()
    print(json.dumps(report, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


def measure(primary: PostgresServer, count: int) -> dict[str, Any]:
    skills = [
        make_indexed(f"skill-{n}", f"Do the task number {n} with tool {n % 97}.")
        for n in range(count + LAGS + 20_000)
    ]
    index = PostgresIndex(primary.url)
    for start in range(0, count, 500):
        index.apply(skills[start : min(start + 500, count)], tenant=TENANT, encoder=ENCODER)
    started = time.perf_counter()
    replica = Replica(primary)
    try:
        replica.start()
        made = time.perf_counter() - started
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
        lags = arrival(index, replica, skills[count : count + LAGS])
        index.close()
        return {
            "skills": count,
            "replica_made_s": round(made, 2),
            "visible_after_ms_p50": round(1000 * statistics.median(lags), 2),
            "visible_after_ms_max": round(1000 * max(lags), 2),
            **failover(primary, replica, skills[count + LAGS :]),
        }
    finally:
        replica.remove()


def arrival(
    index: PostgresIndex, replica: PostgresServer, skills: Sequence[IndexedSkill]
) -> list[float]:
    """Seconds from the answer to a change until the replica has it."""
    lags = []
    with psycopg.connect(replica.url, autocommit=True) as connection:
        for skill in skills:
            index.apply([skill], tenant=TENANT, encoder=ENCODER)
            changed = time.perf_counter()
            until(lambda wanted=skill.skill.id: has(connection, wanted))
            lags.append(time.perf_counter() - changed)
    return lags


def has(connection: psycopg.Connection[Any], skill_id: str) -> bool:
    query = "select 1 from skillcue.skill where id = %s"
    return connection.execute(query, [skill_id]).fetchone() is not None


def failover(
    primary: PostgresServer, replica: PostgresServer, skills: Sequence[IndexedSkill]
) -> dict[str, Any]:
    """Kill the primary in the middle of changes, promote the replica, and count."""
    both = (
        f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{replica.port}/postgres"
        "?target_session_attrs=read-write&connect_timeout=2"
    )
    index = PostgresIndex(both)
    acknowledged: list[str] = []
    stop = threading.Event()

    def write() -> None:
        for skill in skills:
            if stop.is_set():
                return
            try:
                index.apply([skill], tenant=TENANT, encoder=ENCODER)
            except IndexUnavailableError:
                continue  # nobody was told that it is stored
            acknowledged.append(skill.skill.id)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(BEFORE_S)
    before = len(acknowledged)
    primary.kill()
    died = time.perf_counter()
    with psycopg.connect(replica.url, autocommit=True) as connection:
        connection.execute("select pg_promote(true)")
        connection.execute("alter system set synchronous_standby_names = ''")  # it has none itself
        connection.execute("select pg_reload_conf()")
        promoted = time.perf_counter() - died
        until(lambda: answers(index))
        read_again = time.perf_counter() - died
        until(lambda: len(acknowledged) > before + 1)
        written_again = time.perf_counter() - died
        stop.set()
        writer.join()
        lost = [skill_id for skill_id in acknowledged if not has(connection, skill_id)]
    index.close()
    return {
        "acknowledged_before": before,
        "acknowledged_after": len(acknowledged) - before,
        "acknowledged_and_lost": len(lost),
        "promoted_after_s": round(promoted, 2),
        "read_again_after_s": round(read_again, 2),
        "written_again_after_s": round(written_again, 2),
    }


def answers(index: PostgresIndex) -> bool:
    try:
        return index.statistics([TENANT]).skills > 0
    except IndexUnavailableError:
        return False


def until(condition: Callable[[], bool]) -> None:
    end = time.perf_counter() + WAIT_S
    while not condition():
        if time.perf_counter() > end:
            raise TimeoutError(f"nothing after {WAIT_S:g} s")
        time.sleep(0.001)


if __name__ == "__main__":
    main()
