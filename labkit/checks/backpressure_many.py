"""Very many submits: no two tasks may get one id, however the ids are made.

Not handled here: what is stored of a task (see `backpressure_rules`).
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import event, update

from labkit.checks.backpressure_rules import NOW, Facts
from labkit.checks.common import outcome_of
from labkit.checks.exercise import Finding, Seen
from labkit.checks.naps import naps_of
from labkit.database import open_engine
from labkit.faults.escape import allowed
from labkit.faults.process import Process
from labkit.tables import create_tables, tasks

MANY = 500  # one run, in which nothing is heard of a slow answer: no more than a busy machine does in a second
CLASH = "an id is too short: sooner or later it is one that another task has"


def submit_many(submit: Any, process: Process) -> dict[str, Any]:
    """Submit very often, where few wait at any time: how many ids came before an error, and how many of them differ.

    No fault strikes here and nobody else comes: it is a file of its own, past the gate.
    """
    ids: list[str] = []

    def submit_all() -> None:
        for number in range(MANY):
            ids.append(submit(engine, "shop", max_pending=99, now=NOW))
            if number % 20 == 0:
                with engine.begin() as connection:
                    connection.execute(update(tasks).values(state="completed"))

    with TemporaryDirectory(dir=process.world.folder) as folder, naps_of(process):
        engine = open_engine(f"sqlite:///{folder}/very-many.sqlite", pool_timeout=0, connect_args={"timeout": 0})  # nobody else is there to wait for
        event.listen(engine, "do_connect", _past_the_gate)
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
        create_tables(engine)
        ended = outcome_of(submit_all)
        engine.dispose()
    return {"accepted": len(ids), "different": len(set(map(str, ids)))} | ended


def _past_the_gate(dialect: Any, record: Any, arguments: Any, options: Any) -> Any:
    with allowed():
        return dialect.connect(*arguments, **options)


def _clashed(told: dict[str, Any]) -> bool:
    return bool(told["accepted"]) and told.get("error", {}).get("type") == "IntegrityError"


def accepted(seen: Seen, facts: Facts) -> bool:
    """Whether all were accepted, or the next id was one that is there already."""
    last = seen.end.last
    return seen.kind == "end" and last.how == "returned" and (last.value["accepted"] == MANY or _clashed(last.value))


def no_clash(seen: Seen, facts: Facts) -> Finding | None:
    if not accepted(seen, facts):
        return None
    told = seen.end.last.value
    if _clashed(told):
        return Finding(f"{told['accepted']} tasks were accepted, and the next one has an id that is there already", CLASH)
    if told["different"] < MANY:
        return Finding(f"{MANY} tasks were accepted, and they have {told['different']} ids", CLASH)
    return None
