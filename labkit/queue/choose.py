"""The statements that look for the next task and take it, in one go: highest priority first, then oldest, then by id.

Next is a pending task whose time has come, or a running one whose lease is over and that has an attempt left. On SQLite one
statement looks at both. On PostgreSQL a row can only be locked where it is found, so the hot statement looks at the pending
ones alone, and says when a lease is over: then a slower one sorts both kinds. Rows that somebody else is taking are skipped.

Not handled here: running them (see `claim` and `complete`).
"""

from __future__ import annotations

from labkit.queue.options import LIMIT_SQL
from labkit.queue.statement import COLUMNS, in_dialect
from labkit.tables import PENDING_SQL, RUNNING_SQL

FOUND, LOOK_AGAIN = 1, 2  # the first column of what a claim returns: the other columns hold the task, or a lease is over

_DUE = f"{PENDING_SQL} AND available_at <= {{now}}"
_OVER = f"{RUNNING_SQL} AND lease_expires_at < {{now}} AND attempt < {LIMIT_SQL}"
_ORDER = "ORDER BY priority DESC, created_at, id LIMIT 1"
_TAKE = """UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1, lease_expires_at = {expires},
  updated_at = {now}, version = version + 1
WHERE id = (SELECT id FROM chosen)"""

# each half walks along the index and stops at its first row
_FIRST = "SELECT * FROM (SELECT id, priority, created_at FROM tasks WHERE"
_ON_SQLITE = f"""WITH chosen AS (SELECT id FROM (
  {_FIRST} {_DUE} {_ORDER}) UNION ALL {_FIRST} {_OVER} {_ORDER})) {_ORDER}) {_TAKE} RETURNING {FOUND}, {COLUMNS}"""

# subtle: a CTE that is computed once; as a subquery of IN its LIMIT may be run again and let several rows through
_CHOSEN = f"chosen AS MATERIALIZED (SELECT id FROM tasks WHERE {{which}} {_ORDER} FOR UPDATE OF tasks SKIP LOCKED)"
_PENDING = _CHOSEN.replace("{which}", f"{_DUE} AND NOT (SELECT ended FROM over){{only_if}}")
# CTEs for PostgreSQL that take a task, `besides` those that are over, `only_if` a further condition holds
TAKING = f"""over AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM tasks WHERE {_OVER}{{besides}}) AS ended),
{_PENDING}, taken AS ({_TAKE} RETURNING {COLUMNS})"""
TAKEN = f"SELECT CASE WHEN ended THEN {LOOK_AGAIN} ELSE {FOUND} END AS place, {COLUMNS} FROM over LEFT JOIN taken ON true"

CLAIM = {
    "sqlite": in_dialect("sqlite", _ON_SQLITE),
    "postgresql": in_dialect("postgresql", f"{{with_more}}{TAKING} {TAKEN}", besides="", only_if=""),
}
CLAIM_ANY = in_dialect(
    "postgresql",
    f"{{with_more}}{_CHOSEN.replace('{which}', f'(({_DUE}) OR ({_OVER}))')} {_TAKE} RETURNING {FOUND}, {COLUMNS}",
)
