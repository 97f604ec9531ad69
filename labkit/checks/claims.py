"""What the cases of `claim` and `lease` share: workers that ask for a task, alone and at once.

At once each worker has a name of its own, so the rows at the end show which call took what. Alone each asks twice: a worker that has a task
may take another one.

Not handled here: what must hold (see `claim_rules`, `claim_races`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import event, insert, update

from labkit.checks.common import bodies, outcome_of
from labkit.checks.exercise import SQL, Case
from labkit.checks.naps import naps_of
from labkit.checks.rows import NOW, Row, as_facts, meanwhile, row, scene
from labkit.faults.process import Process
from labkit.tables import tasks

Call = Callable[[Any, Process], Any]
Ask = Callable[[Any, Process, str], Any]  # (the answer's claim, process, worker's name)

AWAY = 3600.0  # seconds for which a worker does something else
# the plan to which other statistics lead: a subquery is run again for each row that is looked at
PLAN = ("hashjoin", "mergejoin", "hashagg", "sort", "material")
# an index that ends in the id would hide that an answer does not ask for it
INDEXES = ("indexscan", "indexonlyscan", "bitmapscan")
RACES = ("two_workers_one_task", "two_workers_three_tasks", "three_workers_four_tasks")
MICROSECOND = 1e-6  # the shortest time that both databases can tell apart
# comes when somebody has claimed already; however one orders the tasks, it is not the next
LATECOMER = row("just came", made=-5.0, due=-1.0, priority=-3)
_RACERS = (2, 2, 3)
_TO_TAKE = (1, 3, 4)
_PREEMPTIONS = (2, 2, 1)  # what three do that two do not is seen with one


def worker_of(process: Process) -> str:
    return f"worker {process.gate.process}"  # a label: no claim goes another way for it, and its states still close


def once(ask: Ask, claim: Any, process: Process) -> Any:
    """One call."""
    with naps_of(process):
        return ask(claim, process, worker_of(process))


def caller(number: int) -> str:
    """The worker that asks in this call: each of them twice."""
    return f"Worker {(number + 1) // 2} on host-7"


def drain(ask: Ask, most: int, claim: Any, process: Process) -> list[dict[str, Any]]:
    """Call until two are told that nothing is left, while another task comes in; notes how many connections were not given back."""
    process.note("connections", "0")
    out: list[int] = []
    event.listen(process.engine, "checkout", lambda *_: out.append(1))
    event.listen(process.engine, "checkin", lambda *_: out.append(-1))
    if process.engine.dialect.name == "postgresql":
        plan_without(process, *INDEXES)
    told = []
    for number in range(1, most + 1):
        with naps_of(process):
            told.append({"worker": caller(number)} | outcome_of(partial(ask, claim, process, caller(number))))
        if [one.get("value", "") for one in told[-2:]] == [None, None]:
            break
        if number == 1:
            meanwhile(process, insert(tasks).values(LATECOMER))
    process.note("connections", str(sum(out)))
    return told


def then_away(ask: Ask, claim: Any, process: Process) -> Any:
    """Call, then do something else for an hour, as a worker that works on its task does."""
    taken = once(ask, claim, process)
    process.note("claimed")
    process.clock.sleep(AWAY)
    return taken


def cancels(name: str, claim: Any, process: Process) -> int:
    """Somebody cancels a task that nobody has taken; how many were cancelled."""
    waiting = (tasks.c.id == name) & (tasks.c.state == "pending")
    with process.engine.begin() as connection:
        return connection.execute(update(tasks).where(waiting).values(state="cancelled")).rowcount


def plan_without(process: Process, *ways: str) -> None:
    """Let PostgreSQL plan without some ways, as it would with other statistics."""

    def prepare(connection: Any, record: Any) -> None:
        connection.autocommit = True
        connection.execute("; ".join(["ANALYZE tasks", *(f"SET enable_{way} = off" for way in ways)]))
        connection.autocommit = False

    event.listen(process.engine, "connect", prepare)


def under_another_plan(ask: Ask, claim: Any, process: Process) -> Any:
    plan_without(process, *PLAN)
    return once(ask, claim, process)


def case(name: str, rows: Sequence[Row], *calls: Call, claim: str = "claim", **options: Any) -> Case:
    """A case over these rows, on both databases."""
    facts = {"rows": as_facts(rows), "now": NOW.isoformat(), **options.pop("facts", {})}
    return Case(name, bodies(claim, *calls), scene(rows), facts=facts, **{"databases": SQL, "on_file": True, **options})


def shared_cases(ask: Ask, waiting: Callable[[str, int], Row], order: dict[str, Any]) -> tuple[Case, ...]:
    """The cases that both exercises have. `waiting(id, priority)` is a row that can be taken; `order` says in which order it should be."""

    def some(count: int) -> list[Row]:
        return [waiting(name, priority) for priority, name in enumerate("dcba"[-count:])]

    facts: dict[str, Any] = {"facts": order}
    call = partial(once, ask)
    races = [
        case(name, some(rows), *[call] * workers, engine="interleave", preemptions=most, alike=True, costly=workers > 2, **facts)
        for name, workers, rows, most in zip(RACES, _RACERS, _TO_TAKE, _PREEMPTIONS, strict=True)
    ]
    away = partial(then_away, ask)
    # subtle: the rows must lie best first, for then each that is looked at is the best of those that are left
    best_first = list(reversed(some(4)))
    return (
        case("another_plan", best_first, partial(under_another_plan, ask), databases=("postgres",), **facts),
        *races,
        case("at_work", some(3), away, away, engine="interleave", preemptions=0, alike=True, **facts),
        case("nothing_there", [], call, facts=order),
        case("crashes", some(2), call, engine="sweep", facts=order),
    )


def nothing_due(ask: Ask, *more: Row) -> Case:
    """Rows of which none can be taken."""
    rows = [
        row("tomorrow", due=86_400.0, priority=3),
        row("in a moment", due=MICROSECOND, priority=9),
        *(row(state, state, priority=9, worker_id="w0", attempt=1) for state in ("completed", "failed", "cancelled")),
        row("asks somebody", "waiting", worker_id="w0", attempt=1),
        *more,
    ]
    return case("nothing_due", rows, partial(once, ask), facts={"order": []})
