"""Every end of a task with a webhook becomes exactly one delivery, and no delivery is lost before somebody has said that it arrived.

The end itself says that it is to be told: in the commit that ends a task the terminal event notes the webhook. Whichever process looks first writes the
delivery, body and all, and clears that note in one transaction; a crash leaves both or neither. From then on the delivery is a row whose id
(of task and run) and bytes never change. It is claimed like a task: one statement, one holder, a lease, and a fence (`version`), so a
deliverer that slept past its lease changes nothing. An attempt that ended without a word is made again and counts for nothing.

Not handled here: when to try again (see `deliver`), the order of deliveries, and removing old ones (see `prune`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.dialects import postgresql, sqlite

from labkit.commit import one_commit, times
from labkit.database import parse_time, reading, writing
from labkit.progress.ends import Ended, ends
from labkit.queue.change import moment
from labkit.statement import for_both, in_dialect
from labkit.store.contract import plain_text, storable_text
from labkit.tables import progress_log, webhook_deliveries

PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"
LONGEST_REASON = 500  # characters
_MOST = 20  # deliveries that are written in one transaction
_log, _out = progress_log.c, webhook_deliveries.c
# subtle: in the order of the partial index and of no other one, or PostgreSQL could walk through all of the log instead
_UNTOLD = select(_log.position).where(_log.webhook_url.is_not(None)).order_by(_log.run, _log.position).limit(_MOST)
_INSERT: dict[str, Any] = {
    name: made(webhook_deliveries).on_conflict_do_nothing(index_elements=["id"])
    for name, made in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}

_DUE = f"SELECT id FROM webhook_deliveries WHERE state = '{PENDING}' AND due_at <= {{now}} ORDER BY due_at, id LIMIT 1"
_FIELDS = ("id", "task_id", "run", "url", "body", "state", "attempt", "due_at", "last_status", "last_error", "created_at", "updated_at", "version")
_TAKE = f"""UPDATE webhook_deliveries SET due_at = {{expires}}, updated_at = {{now}}, version = version + 1
WHERE id = ({{chosen}}) RETURNING {", ".join(_FIELDS)}"""
# subtle: as in a claim of tasks, PostgreSQL needs the lock where the row is found, and SQLite has its write lock
_CLAIM = {
    "sqlite": in_dialect("sqlite", _TAKE.replace("{chosen}", _DUE)),
    "postgresql": in_dialect(
        "postgresql",
        f"{{with_more}}chosen AS MATERIALIZED ({_DUE} FOR UPDATE SKIP LOCKED) {_TAKE.replace('{chosen}', 'SELECT id FROM chosen')}",
    ),
}
_SETTLE = for_both(
    "{with}UPDATE webhook_deliveries SET state = :state, attempt = attempt + 1, due_at = {expires}, updated_at = {now}, "
    "last_status = :status, last_error = :error, version = version + 1 "
    f"WHERE id = :id AND version = :version AND state = '{PENDING}' RETURNING id"
)


@dataclass(frozen=True)
class Delivery:
    """One delivery. `attempt` counts those that ended; `due_at` is when it is sent next, or until when somebody may be sending it."""

    id: str
    task_id: str
    run: int
    url: str
    body: bytes
    state: str
    attempt: int
    due_at: datetime
    last_status: int | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    version: int

    def __repr__(self) -> str:
        why = f" {self.last_error}" if self.last_error else ""
        return f"<Delivery {self.id} of {self.task_id} run={self.run} {self.state} attempt={self.attempt}{why}>"


def delivery_id(task_id: str, run: int) -> str:
    """The same for every attempt and for whoever makes it; another one for each run of a task."""
    return hashlib.sha256(f"{run} {task_id}".encode()).hexdigest()[:32]


def body_of(ended: Ended) -> bytes:
    """The task as JSON, as its run left it, and which run that was."""
    values = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in vars(ended.task).items()}
    return json.dumps(values | {"run": ended.run}, ensure_ascii=False, separators=(",", ":")).encode()


def collect(engine: Engine, now: datetime | None = None) -> int:
    """Write a delivery for each end that is still to be told, and return how many there were. `StoreBusy`."""
    written = 0
    while _any_untold(engine):  # subtle: looking takes no write lock, and nearly always there is nothing to do
        with writing(engine) as connection:
            found = _write(connection, now)
        if not found:
            break  # another deliverer is at them
        written += found
    return written


def _any_untold(engine: Engine) -> bool:
    with reading(engine) as connection:
        return connection.execute(_UNTOLD.limit(1)).first() is not None


def _write(connection: Connection, now: datetime | None) -> int:
    positions = list(connection.scalars(_UNTOLD.with_for_update(skip_locked=True)))
    if not positions:
        return 0
    at = moment(connection, now)
    rows = [_row(ended, at) for ended in ends(connection, _log.position.in_(positions))]
    if rows:
        connection.execute(_INSERT[connection.dialect.name], rows)
    connection.execute(update(progress_log).where(_log.position.in_(positions)).values(webhook_url=None))
    return len(positions)


def _row(ended: Ended, at: datetime) -> dict[str, Any]:
    named = {"id": delivery_id(ended.task.id, ended.run), "task_id": ended.task.id, "run": ended.run}
    due = min(at, ended.task.updated_at or at)  # who ended first is told first, however late that is seen
    return named | {"url": ended.webhook_url, "body": body_of(ended), "due_at": due, "created_at": at, "updated_at": at}


def claim(engine: Engine, lease_seconds: float, now: datetime | None = None) -> Delivery | None:
    """The delivery that has been due for longest, now the caller's for `lease_seconds`; None if nothing is due. `StoreBusy`."""
    with one_commit(engine) as execute:
        found = execute(_CLAIM[engine.dialect.name], times(execute, engine, now, lease_seconds))
    return _delivery(dict(zip(_FIELDS, found[0], strict=True))) if found else None


def settle(
    engine: Engine,
    held: Delivery,
    state: str,
    *,
    status: int | None = None,
    error: str | None = None,
    wait: float = 0.0,
    now: datetime | None = None,
) -> bool:
    """End the attempt: it is delivered, failed for good, or pending again in `wait` seconds. False if another holds it by now, and nothing is changed."""
    reason = None if error is None else storable_text(error)[:LONGEST_REASON]
    values = {"id": held.id, "version": held.version, "state": state, "status": status, "error": reason}
    with one_commit(engine) as execute:
        found = execute(_SETTLE[engine.dialect.name], values | times(execute, engine, now, wait))
    return bool(found)


def deliveries(engine: Engine, task_id: str) -> list[Delivery]:
    """The deliveries of a task, one for each run that ended, oldest first."""
    chosen = select(webhook_deliveries).where(_out.task_id == plain_text("task_id", task_id)).order_by(_out.run)
    with reading(engine) as connection:
        return [_delivery(row._asdict()) for row in connection.execute(chosen)]


def _delivery(row: Mapping[str, Any]) -> Delivery:
    given = {name: row[name] for name in _FIELDS}
    at = {name: parse_time(given[name]) for name in ("due_at", "created_at", "updated_at")}
    return Delivery(**given | at | {"body": bytes(given["body"])})
