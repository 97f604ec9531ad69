"""Bare sqlite3 on a WAL file with full durability: n + 1 rows, each its own commit."""

from __future__ import annotations

import sqlite3

from runner import play


def prepare(url: str):  # type: ignore[no-untyped-def]
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE log (run TEXT, seq INTEGER, event TEXT, PRIMARY KEY (run, seq))"):
        connection.execute(statement)

    def run(name: str, steps: int) -> None:
        for seq in range(steps + 1):
            connection.execute("INSERT INTO log VALUES (?, ?, 'done')", (name, seq))

    return run


play(prepare)
