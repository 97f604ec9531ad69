"""A bare psycopg loop: claim and complete, each its own commit; with a batch size, so many rows in each of the two."""

from __future__ import annotations

import psycopg
from worker import play

TABLE = "CREATE TABLE job (id bigserial PRIMARY KEY, state text NOT NULL, priority int NOT NULL DEFAULT 0, worker text, result text)"
INDEX = "CREATE INDEX job_pending ON job (priority DESC, id) WHERE state = 'pending'"
CLAIM = """WITH chosen AS MATERIALIZED (
  SELECT id FROM job WHERE state = 'pending' ORDER BY priority DESC, id LIMIT %s FOR UPDATE SKIP LOCKED)
UPDATE job SET state = 'running', worker = %s WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING id"""
COMPLETE = "UPDATE job SET state = 'completed', result = %s WHERE id = ANY (%s)"


def fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (TABLE, INDEX):
            connection.execute(statement)
        connection.execute("INSERT INTO job (state) SELECT 'pending' FROM generate_series(1, %s)", (count,))
        connection.execute("VACUUM ANALYZE job")


def work(url: str, name: str, most: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.cursor()
        while ids := [row[0] for row in cursor.execute(CLAIM, (max(1, most), name)).fetchall()]:
            cursor.execute(COMPLETE, ("done", ids))


play(fill, work)
