# right: the events become a table, and the rules are queries
import sqlite3

QUERIES = {
    "was lost": """SELECT s.task FROM e AS s LEFT JOIN t ON t.id = s.task
        WHERE s.kind = 'submitted' AND coalesce(t.state, 'gone') NOT IN ('completed', 'failed', 'cancelled')""",
    "had an effect twice": "SELECT task FROM e WHERE kind = 'effect' GROUP BY task, name HAVING count(*) > 1",
    "was written by a zombie": """SELECT w.task FROM e AS w JOIN e AS c ON c.task = w.task AND c.kind = 'claimed' AND c.n < w.n
        WHERE w.kind = 'written' AND (c.worker, c.attempt) <> (w.worker, w.attempt)
        AND NOT EXISTS (SELECT 1 FROM e AS m WHERE m.kind = 'claimed' AND m.task = w.task AND m.n > c.n AND m.n < w.n)""",
    "was undone in the wrong order": """SELECT a.task FROM e AS a JOIN e AS b ON a.task = b.task AND a.n < b.n
        JOIN e AS x ON x.task = a.task AND x.name = a.name AND x.kind = 'done'
        JOIN e AS y ON y.task = b.task AND y.name = b.name AND y.kind = 'done'
        WHERE a.kind = 'undone' AND b.kind = 'undone' AND x.n < y.n""",
    "did not end once": """SELECT s.task FROM e AS s WHERE s.kind = 'submitted' AND 1 <> (SELECT count(*) FROM e
        WHERE e.task = s.task AND e.kind = 'progress' AND e.name IN ('completed', 'error'))""",
}


def invariant(trace):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE e (n INTEGER PRIMARY KEY, kind, task, worker, attempt, name)")
    base.execute("CREATE TABLE t (id, state)")
    base.executemany("INSERT INTO e VALUES (?, ?, ?, ?, ?, ?)", [(n, e.kind, e.task_id, e.worker, e.attempt, e.name) for n, e in enumerate(trace.events)])
    base.executemany("INSERT INTO t VALUES (?, ?)", [(id, str(task.state)) for id, task in trace.tasks.items()])
    for what, query in QUERIES.items():
        row = base.execute(query).fetchone()
        if row:
            return f"task {row[0]} {what}"
    return None
