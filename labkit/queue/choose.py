"""The statements that look for the next task, or the next few, and take them in one go: highest priority first, then oldest, then by id.

Next is a pending task whose time has come, or a running one whose lease is over and that has an attempt left. Nearly always no
lease is over, and the next one is the first in the index of the pending ones. SQLite looks further in the same statement.
On PostgreSQL a row can only be locked where it is found, so there the hot statement says when a lease is over, and a slower
one sorts both kinds. Rows that somebody else is taking are skipped.

Not handled here: running them (see `claim` and `complete`).
"""

from __future__ import annotations

from labkit.queue.options import LIMIT_SQL
from labkit.statement import COLUMNS, in_dialect
from labkit.tables import PENDING_SQL, RUNNING_SQL

FOUND, LOOK_AGAIN = 1, 2  # the first column of what a claim returns: the other columns hold the task, or a lease is over

_DUE = f"{PENDING_SQL} AND available_at <= {{now}}"
_OVER = f"{RUNNING_SQL} AND lease_expires_at < {{now}} AND attempt < {LIMIT_SQL}"
_ORDER = "ORDER BY priority DESC, created_at, id LIMIT {limit}"
_TAKE = """UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1, lease_expires_at = {expires},
  updated_at = {now}, version = version + 1
WHERE id {of} RETURNING"""

# each half walks along the index and stops at its first rows
_FIRST = f"SELECT id, priority, created_at FROM tasks WHERE {{which}} {_ORDER}"
_DUE_FIRST, _OVER_FIRST = _FIRST.replace("{which}", _DUE), _FIRST.replace("{which}", _OVER)
_ON_SQLITE = f"""WITH over AS (SELECT 1 FROM tasks WHERE {_OVER}), pending AS ({_DUE_FIRST}),
either AS (SELECT id FROM (SELECT * FROM ({_DUE_FIRST}) UNION ALL SELECT * FROM ({_OVER_FIRST})) {_ORDER}),
chosen AS (SELECT id FROM pending WHERE NOT EXISTS (SELECT 1 FROM over)
  UNION ALL SELECT id FROM either WHERE EXISTS (SELECT 1 FROM over))
{_TAKE} {FOUND}, {COLUMNS}"""

# subtle: a CTE that is computed once; as a subquery of IN its LIMIT may be run again and let several rows through
_CHOSEN = f"chosen AS MATERIALIZED (SELECT id FROM tasks WHERE {{which}} {_ORDER} FOR UPDATE OF tasks SKIP LOCKED)"
_PENDING = _CHOSEN.replace("{which}", f"{_DUE} AND NOT (SELECT ended FROM over){{only_if}}")
# CTEs for PostgreSQL that take tasks, `besides` those that are over, `only_if` a further condition holds
TAKING = f"""over AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM tasks WHERE {_OVER}{{besides}}) AS ended),
{_PENDING}, taken AS ({_TAKE} {COLUMNS})"""
TAKEN = f"SELECT CASE WHEN ended THEN {LOOK_AGAIN} ELSE {FOUND} END AS place, {COLUMNS} FROM over LEFT JOIN taken ON true"
_ON_POSTGRES = f"{{with_more}}{TAKING} {TAKEN}"
_ANY = f"{{with_more}}{_CHOSEN.replace('{which}', f'(({_DUE}) OR ({_OVER}))')} {_TAKE} {FOUND}, {COLUMNS}"

ONE = {"limit": "1", "of": "= (SELECT id FROM chosen)"}
_FEW = {"limit": ":limit", "of": "IN (SELECT id FROM chosen)"}
# subtle: as an array, since a plan for any limit takes a tenth of all tasks for a few, and would join with all of them
_FEW_ON_POSTGRES = {"limit": ":limit", "of": "= ANY (ARRAY(SELECT id FROM chosen))"}
_NO_MORE = {"besides": "", "only_if": ""}
CLAIM = {
    "sqlite": in_dialect("sqlite", _ON_SQLITE, **ONE),
    "postgresql": in_dialect("postgresql", _ON_POSTGRES, **ONE, **_NO_MORE),
}
CLAIM_ANY = in_dialect("postgresql", _ANY, **ONE)
CLAIM_MANY = {
    "sqlite": in_dialect("sqlite", _ON_SQLITE, **_FEW),
    "postgresql": in_dialect("postgresql", _ON_POSTGRES, **_FEW_ON_POSTGRES, **_NO_MORE),
}
CLAIM_ANY_MANY = in_dialect("postgresql", _ANY, **_FEW_ON_POSTGRES)
