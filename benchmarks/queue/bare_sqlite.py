"""A bare sqlite3 loop on a WAL file with full durability: claim and complete, each its own commit."""

from __future__ import annotations

import sqlite3

from worker import play

CLAIM = """UPDATE job SET state = 'running', worker = ? WHERE id = (
  SELECT id FROM job WHERE state = 'pending' ORDER BY priority DESC, id LIMIT 1) RETURNING id"""


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def fill(path: str, count: int) -> None:
    connection = connect(path)
    connection.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, priority INTEGER DEFAULT 0, worker TEXT, result TEXT)")
    connection.execute("CREATE INDEX job_pending ON job (state, priority DESC, id)")
    connection.executemany("INSERT INTO job (state) VALUES (?)", [("pending",)] * count)


def work(path: str, name: str, most: int) -> None:
    connection = connect(path)
    while True:
        connection.execute("BEGIN IMMEDIATE")
        row = connection.execute(CLAIM, (name,)).fetchone()
        connection.execute("COMMIT")
        if row is None:
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE job SET state = 'completed', result = 'done' WHERE id = ?", row)
        connection.execute("COMMIT")


play(fill, work)
