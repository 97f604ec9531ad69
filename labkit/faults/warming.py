"""What the warm parent does before its first fork, so that no child has to: imports, dialects, compiled statements.

It runs a little on a SQLite file of its own and closes it again. Of PostgreSQL it loads the driver, where there is one; it connects to no server.

Not handled here: the forking (see `nursery_parent`).
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from labkit.faults.database_world import shared_engine
from labkit.faults.gate import Alone, Gate
from labkit.faults.process import Process
from labkit.faults.world import World
from labkit.task import Task, TaskState


def warm() -> None:
    """Leave everything loaded and nothing open."""
    with World("sqlite", durable=True) as world:
        gate = Gate("p0", (), [], world.clock, Alone(world.clock), later=world.send_late)
        process = Process(world, gate)
        task = process.store.save(Task("warm", "warm"))
        for state in (TaskState.RUNNING, TaskState.COMPLETED):
            task = process.store.save(replace(task, state=state))
        process.store.get("warm")
        process.end()
    with contextlib.suppress(ImportError):  # no driver: then nobody will ask for PostgreSQL
        import labkit.faults.postgres_world

        shared_engine(labkit.faults.postgres_world.PostgresWorld.kind)
