"""The cases of `lease` beyond claiming: what a worker does with its lease, alone, beside another, and after it was away.

Not handled here: what must hold (see `lease_rules`), and claiming (see `claims`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from labkit.checks.claims import MICROSECOND, case
from labkit.checks.common import outcome_of
from labkit.checks.exercise import Answer, Case
from labkit.checks.naps import naps_of
from labkit.checks.rows import NOW, Row, at, row, scene, stored
from labkit.faults.process import Process
from labkit.queue.lease import Lease

SECONDS = 60.0
LONG, SHORT = 92.25, 20.25  # for how long one claims, and renews: neither is what one would write into the code
RENEWED = ("renewed", "renewed_for_less")
DUELS = ("two_completions", "completion_or_claim", "heartbeat_or_claim", "heartbeat_and_completion")
HELD: dict[str, Any] = {"worker_id": "w1", "attempt": 3}
RESULT = " v1 is up ☕\n" * 100  # as long as it is, and with the blanks at its ends
LATE = 3600.0  # seconds after which a worker comes back that was thought dead
LEASE = Lease("t1", "w1", 3, at(-1.0))

Names = dict[str, Any]


def ask(claim: Any, process: Process, worker: str, *, seconds: float = LONG) -> Any:
    return claim(process.engine, worker, NOW, seconds)


def _told(process: Process, name: str, call: Callable[[], Any]) -> dict[str, Any]:
    """How one call ended, and the rows after it."""
    with naps_of(process):
        ended = outcome_of(call)
    return {"call": name, "rows": stored(process)} | ended


def _renewed(lease: Lease, seconds: float, names: Names, process: Process) -> Any:
    """A heartbeat, and another that asks when the old lease would have been over, and when the new one is."""
    engine = process.engine
    beat = partial(names["heartbeat"], engine, lease, NOW, seconds)
    told = [_told(process, "heartbeat", beat)]
    for name, after in (
        ("claim in between", 9.0),
        ("claim at the end", seconds),
        ("claim afterwards", seconds + MICROSECOND),
    ):
        told.append(_told(process, name, partial(names["claim"], engine, "w2", at(after), SECONDS)))
    return told


def _completed(result: str, lease: Lease, names: Names, process: Process) -> Any:
    return [_told(process, "complete", partial(names["complete"], process.engine, lease, result, NOW))]


def _late(names: Names, process: Process) -> Any:
    """The lease was over long ago, and nobody came."""
    engine = process.engine
    return [
        _told(process, "heartbeat", partial(names["heartbeat"], engine, LEASE, at(LATE), SECONDS)),
        _told(process, "complete", partial(names["complete"], engine, LEASE, "v1", at(9000.0))),
    ]


LOST = {  # case -> what became of the row meanwhile
    "taken_over": {
        "claimed by another": row("t6", "running", lease=30.0, worker_id="w2", attempt=4),
        "claimed by another of the same name": row("t7", "running", lease=30.0, worker_id="w1", attempt=4),
        "another worker's all along": row("t8", "running", lease=30.0, worker_id="w2", attempt=3),
        "never there": row("t9", "running", lease=30.0, worker_id="w2", attempt=1),
    },
    "ended_meanwhile": {
        "completed by somebody": row("t1", "completed", result="v2", lease=30.0, **HELD),
        "cancelled": row("t2", "cancelled", lease=30.0, **HELD),
        "failed": row("t4", "failed", error="no", lease=30.0, **HELD),
    },
    "put_aside_meanwhile": {
        "given back": row("t3", "pending", lease=30.0, **HELD),
        "parked for a person": row("t5", "waiting", lease=30.0, **HELD),
    },
}
NOT_MINE = tuple(LOST)  # subtle: in this order, for who writes over another worker's row says most about the fence
GONE = "t0"


def _not_mine(lost: dict[str, Row], names: Names, process: Process) -> Any:
    told = []
    for why, found in lost.items():
        lease = replace(LEASE, task_id=GONE if why == "never there" else found["id"], expires_at=at(30.0))
        told.append(
            _told(process, f"heartbeat, {why}", partial(names["heartbeat"], process.engine, lease, NOW, SECONDS))
        )
        told.append(_told(process, f"complete, {why}", partial(names["complete"], process.engine, lease, "mine", NOW)))
    return told


def _dies(names: Names, process: Process) -> Any:
    """A whole life: claim, renew, complete. Who was restarted comes when the lease of the dead is over; who dies then has no successor."""
    clock, engine = process.clock, process.engine
    if process.name not in ("p1", "p2"):
        return "nobody"
    if process.name == "p2":
        clock.sleep(2 * SECONDS)
    with naps_of(process):
        lease = names["claim"](engine, "w1", clock.now(), SECONDS)
        if lease is None:
            return None
        lease = names["heartbeat"](engine, lease, clock.now(), SECONDS)
        names["complete"](engine, lease, "v1", clock.now())
    return "done"


def _works(name: str, nap: float, names: Names, process: Process) -> Any:
    """Claim at once or later, be away for longer than the lease, then complete."""
    clock, engine = process.clock, process.engine
    if nap:
        clock.sleep(nap)
    with naps_of(process):
        lease = names["claim"](engine, name, clock.now(), SECONDS)
    process.note("claimed", str(lease is not None))
    clock.sleep(100.0)
    if lease is None:
        return None
    with naps_of(process):
        names["complete"](engine, lease, f"by {process.name}", clock.now())
    return "completed"


def _claims(names: Names, process: Process) -> Any:
    return _told(process, "claim", partial(names["claim"], process.engine, "w2", NOW, SECONDS))


def _beats(names: Names, process: Process) -> Any:
    return _told(process, "heartbeat", partial(names["heartbeat"], process.engine, LEASE, NOW, SECONDS))


def _ends(names: Names, process: Process) -> Any:
    done = partial(names["complete"], process.engine, LEASE, f"by {process.name}", NOW)
    return _told(process, "complete", done)


def _story(name: str, rows: list[Row], *calls: Callable[[Names, Process], Any], **options: Any) -> Case:
    """A case whose bodies get all names of the answer, fresh in each process."""

    def build(answer: Answer) -> list[Callable[[Process], Any]]:
        return [partial(_play, answer, call) for call in calls]

    made = case(name, rows, *calls, **options | {"facts": {"lease": LEASE, **options.get("facts", {})}})
    return replace(made, build=build, setup=scene(rows))


def _play(answer: Answer, call: Callable[[Names, Process], Any], process: Process) -> Any:
    with naps_of(process):
        names = answer.fresh()
    return call(names, process)


def _held(lease: Lease) -> Row:
    left = (lease.expires_at - NOW).total_seconds()
    return row(lease.task_id, "running", lease=left, worker_id=lease.worker_id, attempt=lease.attempt)


def renewed(lease: Lease, seconds: float, name: str = "renewed") -> Case:
    rows = [_held(lease) | {"error": "old", "result": "draft"}, row("other", "completed", result="v0")]
    return _story(name, rows, partial(_renewed, lease, seconds), facts={"lease": lease, "renewed": seconds})


def completed(name: str, result: str, lease: Lease) -> Case:
    beside = row("t0b", "running", lease=900.0, worker_id=lease.worker_id, attempt=lease.attempt)
    return _story(name, [_held(lease), beside], partial(_completed, result, lease), facts={"lease": lease, "result": result})


def alone() -> tuple[Case, ...]:
    held, over = replace(LEASE, expires_at=at(5.0)), row("t1", "running", lease=-1.0, **HELD)
    rows = [found for lost in LOST.values() for found in lost.values()]
    return (
        renewed(held, SHORT),
        renewed(replace(LEASE, expires_at=at(LATE)), SHORT, "renewed_for_less"),
        completed("completed", RESULT, held),
        completed("completed_empty", "", held),
        _story("late", [over], _late, facts={"result": "v1"}),
        *(_story(name, rows, partial(_not_mine, lost)) for name, lost in LOST.items()),
        _story("dies", [row("t1", due=-7300.0)], _dies, engine="sweep"),
    )


def at_once() -> tuple[Case, ...]:
    over = [row("t1", "running", lease=-1.0, **HELD)]
    waiting = [row("t1", due=-7300.0)]
    race = {"engine": "interleave"}
    return (
        _story("zombie", waiting, partial(_works, "w1", 0.0), partial(_works, "w2", 70.0), **race),
        _story("zombie_of_the_same_name", waiting, partial(_works, "w", 0.0), partial(_works, "w", 70.0), **race),
        _story("two_completions", over, _ends, _ends, **race, alike=True),
        _story("completion_or_claim", over, _ends, _claims, **race),
        _story("heartbeat_or_claim", over, _beats, _claims, **race),
        _story("heartbeat_and_completion", over, _beats, _ends, **race),
    )
