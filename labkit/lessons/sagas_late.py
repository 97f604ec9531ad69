"""Time in a saga: an undo under a deadline that is over, and an action that lands when its undo has been and gone.

`one_deadline` is broken on purpose; `own_deadline` is the library's way. Nothing that a saga does by itself survives an action that comes
late enough (`overtaken`): it takes a far side that remembers what was undone (`Tombstones`).

Not handled here: what else can go wrong (see `sagas`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from labkit.clock import Clock
from labkit.cloud import Cloud
from labkit.deadline import Deadline
from labkit.faults import Process, Scenario
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.lessons.sagas import in_memory
from labkit.lessons.sagas_runs import end_of
from labkit.lessons.sagas_world import Steps, Timed, Tombstones, play, timed
from labkit.retry import RetryPolicy
from labkit.saga import Saga, SagaLog, SagaStep
from labkit.saga.step import Act

LIMIT = 600.0  # seconds: for the way forward, and again for the way back
SLOW = "p1@cloud2.after+delay(660)"  # the schedule: the route takes eleven minutes
DIES = f"{SLOW},p1@cloud3.before+crash"  # and in front of the first undo the process dies
AWAY = (300.0, 900.0)  # seconds until somebody goes on
REST = 10.0
LATE = "p1@cloud1.before+late({})"  # the schedule: no answer, and the container comes so many seconds later
HOW_LATE = {
    "5 s late": LATE.format(5),
    "1 min late": LATE.format(60),
    "each try 1 min late": ",".join(f"p1@cloud{n}.before+late(60)" for n in (1, 2, 3)),
}


def one_deadline(steps: Steps, log: SagaLog, clock: Clock) -> None:
    """The chapter hands its context to the undo too. Breaks when the saga failed because the time was over."""
    deadline = Deadline.after(LIMIT, clock)
    in_memory([in_time(step, deadline) for step in steps], log)


def in_time(step: SagaStep, deadline: Deadline) -> SagaStep:
    """The step, whose action and undo both raise when the deadline has passed."""

    def bounded(act: Act | None, key: str) -> None:
        deadline.for_step()
        if act:
            act(key)

    return replace(step, execute=partial(bounded, step.execute), compensate=partial(bounded, step.compensate))


def own_deadline(steps: Steps, log: SagaLog, clock: Clock) -> None:
    """The library's: the undo has a deadline of its own, and it begins with the failure that is in the log."""
    Saga(steps, undo_deadline=LIMIT, clock=clock).run(log, Deadline.after(LIMIT, clock))


def comes_back(seconds: float) -> Scenario:
    """Whoever goes on after a crash comes so much later."""

    def later(process: Process) -> str:
        process.clock.sleep(seconds)
        return play(process, own_deadline, Cloud)

    return replace(timed(own_deadline, Cloud, "own_deadline"), recover=later)


def deadlines() -> Table:
    """The eleven minutes of the route under each deadline, and what a crash in front of the undo changes."""
    own = timed(own_deadline, Cloud, "own_deadline")
    cases = [("one for both", timed(one_deadline, Cloud, "one_deadline"), SLOW), ("one of its own", own, SLOW)]
    cases += [(f"and it is away for {s / 60:g} min", comes_back(s), DIES) for s in AWAY]
    return table(["the undo's deadline", "the caller hears", "there is"], [_case(*case) for case in cases])


def _case(label: str, scenario: Scenario, schedule: str) -> list[object]:
    end, is_there, why = end_of(scenario, schedule)
    return [label, end.last.value, (bad if why else good)(is_there)]


def undoes_at_once(steps: Steps, log: SagaLog, clock: Clock) -> None:
    """The library's saga: an action without an answer is undone at once. Breaks when the action comes after its undo."""
    Saga(steps, clock=clock).run(log)


def rests(steps: Steps, log: SagaLog, clock: Clock) -> None:
    """Each undo waits a little. Breaks when the action is later than that."""

    def rested(undo: Act | None, key: str) -> None:
        clock.sleep(REST)
        if undo:
            undo(key)

    Saga([replace(step, compensate=partial(rested, step.compensate)) for step in steps], clock=clock).run(log)


def asks_again(steps: Steps, log: SagaLog, clock: Clock) -> None:
    """Each action is tried three times under its key. Breaks when no try is answered."""
    Saga(steps, policy=RetryPolicy(max_attempts=3, base=1.0), clock=clock).run(log)


def late(run: Timed, far_side: type[Cloud] = Cloud) -> Scenario:
    """The four steps, for a call that may come late."""
    return timed(run, far_side, run.__name__)


overtaken = late(undoes_at_once)
BROKEN: dict[str, tuple[Scenario, str]] = {
    "one deadline for both ways": (timed(one_deadline, Cloud, "one_deadline"), SLOW),
    "an undo that overtakes its action": (overtaken, LATE.format(5)),
}


def what_helps() -> Table:
    """Each remedy against each lateness of the first call."""
    remedies = [
        ("undo at once", overtaken),
        (f"undo after {REST:g} s", late(rests)),
        ("ask again", late(asks_again)),
        ("tombstones", late(undoes_at_once, Tombstones)),
    ]
    rows = [[label, *(_left(scenario, schedule) for schedule in HOW_LATE.values())] for label, scenario in remedies]
    return table(["the container comes", *HOW_LATE], rows, "What the caller hears, and what there is")


def _left(scenario: Scenario, schedule: str) -> Mark:
    end, _, why = end_of(scenario, schedule)
    return bad(why) if why else good(end.last.value)
