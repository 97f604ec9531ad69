"""Bare psycopg: n + 1 rows, each its own commit."""

from __future__ import annotations

import psycopg
from runner import play


def prepare(url: str):  # type: ignore[no-untyped-def]
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE log (run text, seq int, event text, PRIMARY KEY (run, seq))")

    def run(name: str, steps: int) -> None:
        for seq in range(steps + 1):
            connection.execute("INSERT INTO log VALUES (%s, %s, 'done')", (name, seq))

    return run


play(prepare)
