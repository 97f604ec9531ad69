"""What the exercise `deadline` is run in: each case is a plan, how long is left and how long each step takes.

What a right answer makes of a plan is worked out from it, which is a dozen lines.

Not handled here: what must hold (see `deadline_rules`, which compares).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from typing import Any

from labkit.checks.common import body, called, of_its_own, outcome_of, try_exits
from labkit.checks.exercise import Case
from labkit.errors import DeadlineExceeded
from labkit.faults.process import Process

NAME = "run_with_deadline"
IN_TIME = ("in_time", "tuple", "other_zone", "falsy_results", "none_is_a_result")
TWO_DAYS = 2 * 86400
EXCEEDED = (
    "exactly_full_then_more",
    "late_in_the_middle",
    "late_at_the_end",
    "late_alone",
    "due_right_now",
    "long_past",
)
DELHI = timezone(timedelta(hours=5, minutes=30))
RAISED: tuple[Exception, ...] = (
    RuntimeError("some"),
    StopIteration(),
    NameError("some"),
    ExceptionGroup("some", [ValueError("one"), DeadlineExceeded("its own")]),
)
OWN = ("ValueError", "TimeoutError", "TransientError", "TerminalError")


def plan(left: int, *seconds: int, results: Sequence[str | None] = ()) -> dict[str, Any]:
    """The facts of a case: `left` seconds until the deadline, steps that take `seconds`, and what a right answer makes of it."""
    facts: dict[str, Any] = {
        "left": left,
        "seconds": seconds,
        "results": list(results or (f"step {n} done" for n in range(1, len(seconds) + 1))),
    }
    given, done, ends_as = [], [], "returned"
    for taken, result in zip(seconds, facts["results"], strict=True):
        if left <= 0:
            ends_as = "exceeded"
            break
        given.append(left)
        left -= taken
        if left < 0:
            ends_as = "exceeded"
            break
        done.append(result)
    return {**facts, "given": given, "done": done, "ends_as": ends_as}


def _step(process: Process, number: int, taken: int, result: Any) -> Callable[[float], Any]:
    @called("step")
    def step(seconds: float) -> Any:
        told = f"{float(seconds):g}" if isinstance(seconds, int | float) else f"{seconds!r}"
        process.note(f"step {number}", f"may take {told} s")
        process.clock.sleep(taken)
        process.cloud.deploy_container(f"app{number}", key=f"k{number}")
        return result

    return step


def _deadline(process: Process, left: int, zone: tzinfo = UTC) -> datetime:
    process.note("deadline", str(left))  # the picture draws it
    return (process.clock.now() + timedelta(seconds=left)).astimezone(zone)


def _run(
    facts: dict[str, Any], kind: Callable[[Sequence[Any]], Sequence[Any]] = list, zone: tzinfo = UTC
) -> Callable[[Any, Process], Any]:
    """Run the plan, and write down whether the list of steps is the same afterwards."""

    def play(run: Any, process: Process) -> Any:
        steps = [
            _step(process, n, *taken) for n, taken in enumerate(zip(facts["seconds"], facts["results"], strict=True), 1)
        ]
        given = kind(steps)
        try:
            done = run(given, _deadline(process, facts["left"], zone), process.clock)
            _told_as(process, "returned", done)
            return done
        except DeadlineExceeded as error:
            _told_as(process, "completed", getattr(error, "completed", []))
            raise
        finally:
            process.note("list of steps", "not changed" if list(given) == steps else "changed")

    return play


def _told_as(process: Process, what: str, value: Any) -> None:
    """Write down what looks like a list in plain data, and is none."""
    if isinstance(value, tuple) and value:  # nothing is told by the default too
        process.note(f"{what} as", type(value).__name__)


def case(name: str, facts: dict[str, Any], *schedules: str, **how: Any) -> Case:
    return Case(name, body(NAME, _run(facts, **how)), schedules=schedules or ("none",), facts=facts)


def _twice(run: Any, process: Process) -> Any:
    return [outcome_of(lambda: _run(plan(60, 10, 20))(run, process)) for _ in range(2)]


def _own_deadline(run: Any, process: Process) -> Any:
    """A step that has a deadline of its own, and exceeds it: its error is the step's business."""
    own = DeadlineExceeded("injected: the step's own deadline", completed=["inner"])

    @called("step")
    def step(seconds: float) -> str:
        raise own

    return run(
        [_step(process, 1, 10, "step 1 done"), step, _step(process, 3, 10, "step 3 done")],
        _deadline(process, 60),
        process.clock,
    )


def _kinds(run: Any, process: Process) -> Any:
    """[kind of error that step 2 raised, whether it came through, what the call did, whether step 3 ran, an error of the answer's own]."""

    def one(own: Exception) -> list[Any]:
        ran: list[str] = []

        @called("step")
        def fails(seconds: float) -> str:
            raise own

        @called("step")
        def after(seconds: float) -> str:
            ran.append("step 3")
            return "step 3 done"

        try:
            got = run([_step(process, 1, 1, "step 1 done"), fails, after], _deadline(process, 60), process.clock)
        except Exception as error:
            # subtle: out of a generator or a coroutine StopIteration comes as the cause of a RuntimeError
            same = error is own or (isinstance(own, StopIteration) and error.__cause__ is own)
            return [type(own).__name__, same, f"raised {type(error).__name__}", bool(ran), of_its_own(error, own)]
        return [type(own).__name__, False, f"returned {got!r}", bool(ran), None]

    return [one(own) for own in RAISED]


def _same_step(run: Any, process: Process) -> Any:
    """One callable that stands in the list twice, with another between."""
    again = _step(process, 1, 10, "step 1 done")
    return run([again, _step(process, 2, 20, "step 2 done"), again], _deadline(process, 60), process.clock)


def _leave(run: Any, process: Process) -> Any:
    """An exit out of a step that is in time, and out of one that is late."""

    def after(seconds: int, leave: Callable[..., Any]) -> Any:
        @called("step")
        def leaves(left: float) -> Any:
            process.clock.sleep(seconds)
            return leave()

        return run([_step(process, 1, 1, "step 1 done"), leaves], _deadline(process, 600), process.clock)

    return [*try_exits(partial(after, 0)), *try_exits(partial(after, 700))]


STEPPED = tuple(
    f"p1@{place}+clock_step({seconds})"
    for seconds in (45, 3600, -3600)
    for place in ("clock1.before", "cloud2.after", "cloud3.before")
)


CASES = (
    case("in_time", plan(60, 10, 20, 5)),
    case("tuple", plan(45, 10, 20, 5), kind=tuple),
    case("other_zone", plan(90, 10, 20, 5), zone=DELHI),
    case("falsy_results", plan(60, 10, 20, 5, 1, results=("", "same", "same", ""))),
    case("none_is_a_result", plan(60, 10, 20, 5, results=("step 1 done", None, "step 3 done"))),
    case("in_two_days", plan(TWO_DAYS + 60, 10, 20, 5)),
    case("full", plan(60, 10, 49, 1)),
    case("long_past", plan(-30, 10, 20)),
    case("late_alone", plan(60, 61)),
    case("due_right_now", plan(0, 10, 20)),
    case("late_at_the_end", plan(60, 10, 20, 31)),
    case("late_in_the_middle", plan(60, 10, 60, 5)),
    case("exactly_full_then_more", plan(60, 10, 50, 5)),
    case("no_steps", plan(60)),
    case("no_steps_past", plan(-30)),
    case("stepped", plan(60, 10, 20, 5), *STEPPED),
    case(
        "stepped_late",
        plan(60, 10, 20, 31),
        "p1@clock1.before+clock_step(-3600)",
        "p1@clock3.after+clock_step(-3600)",
    ),
    case("own_error", plan(60, 10, 20, 5), *(f"p1@cloud2.before+error({name})" for name in OWN)),
    case("late_error", plan(60, 10, 60, 5), "p1@cloud2.before+error(ValueError)"),
    Case("own_deadline", body(NAME, _own_deadline)),
    Case("kinds", body(NAME, _kinds)),
    Case("same_step", body(NAME, _same_step)),
    Case("twice", body(NAME, _twice)),
    Case("crashes", body(NAME, _run(plan(60, 10, 20, 5))), engine="sweep"),
    Case("exits", body(NAME, _leave)),
)
