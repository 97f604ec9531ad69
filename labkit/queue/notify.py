"""Wake idle workers on PostgreSQL when a task arrives, instead of letting them find it at their next look.

A notification is sent in the transaction that queues the task, so it arrives when there is something to find, and is
lost with it. It is a wake-up and nothing else: it may be lost, doubled or late, and nobody relies on it. Without it, and
on SQLite, workers find the task at their next poll.

Not handled here: which task it was. Whoever wakes up claims like everybody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, text

CHANNEL = "labkit_tasks"
_NOTIFY = text(f"SELECT pg_notify('{CHANNEL}', '')")


def notify(connection: Connection) -> None:
    """Send the wake-up when this transaction commits; on other databases nothing."""
    if connection.dialect.name == "postgresql":
        connection.execute(_NOTIFY)


def listen(engine: Engine, wake: Callable[[], object], stopped: Callable[[], bool], seconds: float = 1.0) -> None:
    """Call `wake` for each notification until `stopped()`, asked every `seconds`. Returns at once on other databases.

    A broken connection ends it with the driver's error: the caller decides whether it listens again.
    """
    if engine.dialect.name != "postgresql":
        return
    pooled = engine.raw_connection()
    try:
        driver: Any = pooled.driver_connection
        driver.autocommit = True
        driver.execute(f"LISTEN {CHANNEL}")
        while not stopped():
            for _ in driver.notifies(timeout=seconds, stop_after=1):
                wake()
    finally:
        pooled.invalidate()  # subtle: not back into the pool, where it would go on listening
        pooled.close()
