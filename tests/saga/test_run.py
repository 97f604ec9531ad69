"""Running a saga: every place where a step can fail, every way in which it can, and every crash between two calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from labkit.clock import VirtualClock
from labkit.deadline import Deadline
from labkit.errors import (
    CallTimeout,
    CompensationFailed,
    DeadlineExceeded,
    RetriesExhausted,
    SagaFailed,
    StaleLease,
    StoreBusy,
    TaskCancelled,
    TerminalError,
    TransientError,
    UnstorableValue,
    UsageError,
)
from labkit.faults import Process, Scenario, Schedule, open_world
from labkit.faults.runner import Runner
from labkit.retry import RetryPolicy
from labkit.saga import Saga, SagaLog, SagaStep, run_saga
from labkit.saga.step import outcome_unknown
from tests.saga.worlds import NAMES, Calls, Died, Landed, ListLog, how

DEFINITE = [ValueError("no"), TerminalError(), TransientError(), SagaFailed(step="x"), RetriesExhausted(attempts=3)]
UNKNOWN = [CallTimeout(), TimeoutError(), Landed(), ExceptionGroup("two", [ValueError(), CallTimeout()])]


def undone_from(place: int) -> list[str]:
    """The undos of the steps before the one at `place`, in order."""
    return [f"{name}:undo" for name in reversed(NAMES[:place])]


def test_all_steps_are_done_in_order() -> None:
    """Each action is called once under its key, and the log holds a start and an end of each, then one final event."""
    calls, log = Calls(), ListLog()
    run_saga(calls.steps(), log)
    assert [f"{name}:do" for name in NAMES] == calls.made
    assert [(event, name) for name in NAMES for event in ("started", "done")] + [("completed", "")] == log.kept
    run_saga(calls.steps(), log)
    assert len(NAMES) == len(calls.made)


def test_a_saga_without_steps() -> None:
    """It is complete."""
    log = ListLog()
    run_saga([], log)
    assert [("completed", "")] == log.kept


@pytest.mark.parametrize(("place", "error"), list(product(range(4), DEFINITE)))
def test_a_failed_step(place: int, error: Exception) -> None:
    """The steps before it are undone in reverse order, each once; it is named, with its error as cause; again without one."""
    calls, log = Calls(), ListLog()
    calls.fail(f"{NAMES[place]}:do", error)
    with pytest.raises(SagaFailed) as caught:
        run_saga(calls.steps(), log)
    assert (NAMES[place], error) == (caught.value.step, caught.value.__cause__)
    assert [f"{name}:do" for name in NAMES[: place + 1]] + undone_from(place) == calls.made
    assert ("failed", NAMES[place]) in log.kept
    assert ("compensated", "") == log.kept[-1]
    made, kept = list(calls.made), list(log.kept)
    with pytest.raises(SagaFailed) as again:
        run_saga(calls.steps(), log)
    assert (NAMES[place], None, made, kept) == (again.value.step, again.value.__cause__, calls.made, log.kept)


@pytest.mark.parametrize("where", [f"{name}:do" for name in NAMES] + ["a:undo", "b:undo"])
def test_who_was_fenced_off_turns_nothing_round(where: str) -> None:
    """A zombie hears in a step, or in an undo, that another one has its task: that goes through, and whoever has it goes on from there."""
    calls, log = Calls(), ListLog()
    if where.endswith(":undo"):
        calls.fail("c:do", TerminalError())
    calls.fail(where, StaleLease("fenced off"))
    with pytest.raises(StaleLease):
        run_saga(calls.steps(), log)
    made, kept = list(calls.made), list(log.kept)
    assert made[-1] == where
    assert not [event for event, _ in kept if event in ("unknown", "compensated", "compensation_failed")]
    assert how(lambda: run_saga(calls.steps(), log)) == (("failed", "c") if where.endswith(":undo") else ("completed", None))
    assert calls.there == (set() if where.endswith(":undo") else set(NAMES))


def test_a_cancelled_task_is_taken_back() -> None:
    """Nobody else will come for it, so the step has failed."""
    calls, log = Calls(), ListLog()
    calls.fail("b:do", TaskCancelled("by a person"))
    assert ("failed", "b") == how(lambda: run_saga(calls.steps(), log))
    assert set() == calls.there


@pytest.mark.parametrize(("place", "error"), list(product(range(4), UNKNOWN)))
def test_an_unknown_outcome(place: int, error: Exception) -> None:
    """The step whose answer was lost is undone first, whether its effect is there or not."""
    calls, log = Calls(), ListLog()
    calls.fail(f"{NAMES[place]}:do", error)
    assert ("failed", NAMES[place]) == how(lambda: run_saga(calls.steps(), log))
    assert undone_from(place + 1) == calls.made[place + 1 :]
    assert ("unknown", NAMES[place]) in log.kept
    assert set() == calls.there


def test_what_an_error_says() -> None:
    """A group is as unknown as what is in it, exhausted retries are as unknown as their cause."""
    exhausted = RetriesExhausted(attempts=3)
    exhausted.__cause__ = CallTimeout()
    assert outcome_unknown(exhausted)
    assert not outcome_unknown(ExceptionGroup("two", [ValueError(), TerminalError()]))
    assert outcome_unknown(TerminalError(definite=False))


def test_a_step_says_itself_what_is_unknown() -> None:
    """A client with errors of its own is understood."""
    calls, log = Calls(), ListLog()
    calls.fail("b:do", OSError("connection reset"))
    steps = [replace(step, unknown=lambda error: isinstance(error, OSError)) for step in calls.steps()]
    assert ("failed", "b") == how(lambda: run_saga(steps, log))
    assert ["b:undo", "a:undo"] == calls.made[2:]


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("error", [TransientError(retry_after=9.0), CallTimeout(), TimeoutError()])
def test_an_undo_that_fails_in_passing(error: Exception, failures: int) -> None:
    """It is tried again under the same key, without waiting where there is no clock."""
    calls, log = Calls(), ListLog()
    calls.fail("d:do", ValueError())
    calls.fail("b:undo", *[error] * failures)
    assert ("failed", "d") == how(lambda: run_saga(calls.steps(), log))
    assert ["c:undo", *["b:undo"] * (failures + 1), "a:undo"] == calls.made[4:]


@pytest.mark.parametrize(
    ("error", "tries"), [(TransientError(), 3), (TimeoutError(), 3), (TerminalError(), 1), (ConnectionError(), 1)]
)
@pytest.mark.parametrize("place", range(3))
def test_an_undo_that_fails_for_good(place: int, error: Exception, tries: int) -> None:
    """Three tries where another one may help, else one; the others still run; what remains is told now and again later."""
    calls, log = Calls(), ListLog()
    calls.fail("d:do", ValueError("disk"))
    calls.fail(f"{NAMES[place]}:undo", *[error] * 9)
    with pytest.raises(CompensationFailed) as caught:
        run_saga(calls.steps(), log)
    expected = [name for name in ("c:undo", "b:undo", "a:undo") for _ in range(tries if name[0] == NAMES[place] else 1)]
    assert expected == calls.made[4:]
    assert ([NAMES[place]], {NAMES[place]}, error) == (caught.value.remaining, calls.there, caught.value.__cause__)
    assert ("compensation_failed", "") == log.kept[-1]
    kept = list(log.kept)
    assert ("remains", [NAMES[place]]) == how(lambda: run_saga(calls.steps(), log))
    assert (4 + len(expected), kept) == (len(calls.made), log.kept)


def test_what_remains_is_told_in_undo_order() -> None:
    """Several undos that fail for good, one that is missing, one step that the program no longer knows."""
    calls, log = Calls(), ListLog()
    run_saga(calls.steps()[:2], ListLog())
    calls.fail("d:do", CallTimeout())
    calls.fail("d:undo", TerminalError())
    steps = [replace(step, compensate=None) if step.name == "b" else step for step in calls.steps()]
    log.kept += [("started", "old"), ("done", "old")]
    assert ("remains", ["d", "b", "old"]) == how(lambda: run_saga(steps, log))
    assert {"b"} == calls.there - {"d"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, Died])
@pytest.mark.parametrize("call", [f"{name}:do" for name in NAMES] + ["c:undo", "a:undo"])
def test_interrupts_go_through(call: str, error: type[BaseException]) -> None:
    """What is no Exception comes out as it is, nothing is logged for it, and the next call goes on."""
    calls, log = Calls(), ListLog()
    if "undo" in call:
        calls.fail("d:do", ValueError())
    calls.fail(call, raised := error())
    with pytest.raises(error) as caught:
        run_saga(calls.steps(), log)
    assert raised is caught.value
    assert log.kept[-1] == ("undoing" if "undo" in call else "started", call[0])
    made = len(calls.made)
    assert ("failed" if "undo" in call else "completed") == how(lambda: run_saga(calls.steps(), log))[0]
    assert call == calls.made[made]


FAILURES: list[dict[str, list[BaseException | None]]] = [
    {},
    *({f"{name}:do": [error] * 9} for name, error in (("a", Landed()), ("b", ValueError()), ("c", Landed()))),
    {"c:do": [ValueError()] * 9, "b:undo": [TransientError(), CallTimeout(), TransientError(), None]},
    {"d:do": [ValueError()] * 9, "b:undo": [TerminalError()] * 99},
]


@pytest.mark.parametrize("errors", FAILURES, ids=lambda errors: ",".join(errors) or "none")
def test_every_crash_and_every_crash_of_the_recovery(errors: dict[str, list[BaseException | None]]) -> None:
    """One process dies anywhere, the next at each third place or not at all, and the last one ends it: the log is whole."""

    def play(*die_at: int) -> tuple[tuple[str, object], Calls, ListLog, int]:
        calls, log = Calls(), ListLog()
        calls.errors = {f"s1:{call}": list(raised) for call, raised in errors.items()}
        crossings = 0
        for last in (*die_at, 0):
            crossings = 0

            def cross(last: int = last) -> None:
                nonlocal crossings
                crossings += 1
                if crossings == last:
                    raise Died

            calls.before = log.before = cross
            try:
                return how(lambda calls=calls, log=log: run_saga(calls.steps(), log)), calls, log, crossings  # type: ignore[misc]
            except Died:
                pass
        raise AssertionError("nobody ended it")

    total = play()[3]
    for first, second in product(range(1, total + 1), range(0, total + 1, 3)):
        ended, calls, log, _ = play(first, second)
        said, what = ended
        expected = {"completed": set(NAMES), "failed": set()}.get(said, {*what} if isinstance(what, list) else None)
        assert expected == calls.there, (first, second, log.kept)
        assert len(set(log.kept)) == len(log.kept)
        assert [said] == [{"completed": "completed", "compensated": "failed"}.get(event, "remains") for event, step in log.kept if not step]


def test_a_step_of_a_dead_process_that_fails_now_may_have_happened() -> None:
    """The first process died in it, the second is refused: it is undone too."""
    calls, log = Calls(), ListLog()
    calls.there.add("b")
    log.kept += [("started", "a"), ("done", "a"), ("started", "b")]
    calls.fail("b:do", TransientError())
    assert ("failed", "b") == how(lambda: run_saga(calls.steps(), log))
    assert ["b:do", "b:undo", "a:undo"] == calls.made
    assert set() == calls.there


@pytest.mark.parametrize("names", [["a", "a"], ["a", ""]])
def test_names_that_cannot_be_told_apart(names: list[str]) -> None:
    """Two steps of one name would share their keys and their entries: refused before anything happens."""
    with pytest.raises(ValueError):
        run_saga([SagaStep(name, lambda key: pytest.fail("called")) for name in names], ListLog())


def test_a_name_that_no_log_can_hold() -> None:
    """Refused before anything happens, not when it is that step's turn."""
    with pytest.raises(UnstorableValue):
        run_saga([SagaStep("a", lambda key: pytest.fail("called")), SagaStep("b\x00", print)], ListLog())


def test_an_error_of_the_log_is_no_failure_of_a_step() -> None:
    """It goes through, nothing is undone, and calling again goes on."""
    calls, log = Calls(), ListLog()
    busy = iter([None, None, StoreBusy()])

    def before() -> None:
        if (error := next(busy, None)) is not None:
            raise error

    log.before = before
    with pytest.raises(StoreBusy):
        run_saga(calls.steps(), log)
    run_saga(calls.steps(), log)
    assert (["a:do", "b:do", "c:do", "d:do"], set(NAMES)) == (calls.made, calls.there)


# The rich form


def test_a_policy_for_each_step(clock: VirtualClock) -> None:
    """A step is tried by its own policy, the others by that of the saga; the waits are the clock's."""
    calls, log = Calls(), ListLog()
    for name in NAMES:
        calls.fail(f"{name}:do", TransientError(), TransientError())
    steps = [replace(step, retry=RetryPolicy(base=5.0)) if step.name == "b" else step for step in calls.steps()]
    Saga(steps, policy=RetryPolicy(base=1.0), clock=clock).run(log)
    assert [name for name in NAMES for _ in range(3)] == [call[0] for call in calls.made]
    assert 3 * (1.0 + 2.0) + 5.0 + 10.0 == clock.elapsed


def test_one_lost_try_makes_the_outcome_unknown(clock: VirtualClock) -> None:
    """The first try landed without an answer, the second was refused: what it did is undone."""
    calls, log = Calls(), ListLog()
    calls.fail("b:do", Landed(), TerminalError())
    with pytest.raises(SagaFailed):
        Saga(calls.steps(), policy=RetryPolicy(), clock=clock).run(log)
    assert ["a:do", "b:do", "b:do", "b:undo", "a:undo"] == calls.made
    assert ("unknown", "b") in log.kept


def test_the_deadline_of_the_way_forward(clock: VirtualClock) -> None:
    """When it has passed no step begins; what was done is undone, for which it does not count."""
    calls, log = Calls(), ListLog()
    steps = [replace(step, execute=lambda key, act=step.execute: (act(key), clock.sleep(40))) for step in calls.steps()]
    with pytest.raises(SagaFailed) as caught:
        Saga(steps, clock=clock).run(log, Deadline.after(60, clock))
    assert isinstance(caught.value.__cause__, DeadlineExceeded)
    assert ("c", ["a:do", "b:do", "b:undo", "a:undo"]) == (caught.value.step, calls.made)


def in_virtual_time(body: Callable[[Process], object]) -> object:
    """What a function returns in a world whose database has the virtual time."""
    with open_world("memory") as world:
        end = Runner(Scenario("saga.deadline", body), world).run(Schedule())[0]
    assert end.last.how == "returned", end
    return end.last.value


def test_the_undo_has_a_deadline_of_its_own() -> None:
    """It begins with the failure: waits for another try end before it, and what is left is still undone in time."""

    def body(process: Process) -> object:
        calls, log, clock = Calls(), SagaLog(process.engine, "s1"), process.clock
        calls.fail("d:do", ValueError())
        calls.fail("b:undo", *[TransientError()] * 9)
        steps = [replace(calls.steps()[0], execute=lambda key: clock.sleep(500)), *calls.steps()[1:]]
        saga = Saga(steps, undo_deadline=100, undo_policy=RetryPolicy(9, base=30.0), clock=clock)
        return how(lambda: saga.run(log)), calls.made[3:], clock.now() - log.records()[0].time

    said, made, took = in_virtual_time(body)  # type: ignore[misc]
    assert ["remains", ["b"]] == said
    assert ["c:undo", *["b:undo"] * 3, "a:undo"] == made
    assert repr(timedelta(seconds=500 + 30 + 60)) == took["repr"]


@pytest.mark.parametrize(("later", "expected"), [(99, ["failed", "d"]), (101, ["remains", ["b", "a"]])])
def test_a_restart_does_not_set_the_undo_deadline_again(later: float, expected: list[object]) -> None:
    """The failure is in the log: who comes in time goes on, who comes after the deadline undoes nothing and says what remains."""

    def body(process: Process) -> object:
        calls = Calls()
        calls.fail("d:do", ValueError())
        calls.fail("b:undo", Died())
        saga = Saga(calls.steps(), undo_deadline=100, clock=process.clock)
        with pytest.raises(Died):
            saga.run(SagaLog(process.engine, "s1"))
        process.clock.sleep(later)
        return [how(lambda: saga.run(SagaLog(process.engine, "s1"))) for _ in range(2)]

    assert [expected, expected] == in_virtual_time(body)


def test_an_undo_deadline_needs_times() -> None:
    """A log without times cannot keep it over a restart: refused before anything happens."""
    with pytest.raises(UsageError):
        Saga(Calls().steps(), undo_deadline=1).run(ListLog())


def test_every_step_and_undo_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """One structured line each, and a warning for an undo that failed for good."""
    calls = Calls()
    calls.fail("b:do", ValueError("disk full"))
    calls.fail("a:undo", TerminalError("gone"))
    with caplog.at_level(logging.INFO, "labkit.saga"):
        how(lambda: run_saga(calls.steps(), ListLog()))
    told = [(record.levelname, record.event, record.step) for record in caplog.records]  # type: ignore[attr-defined]
    assert [
        ("INFO", "started", "a"), ("INFO", "done", "a"), ("INFO", "started", "b"), ("INFO", "failed", "b"),
        ("INFO", "undoing", "a"), ("WARNING", "compensation_failed", "a"), ("INFO", "compensation_failed", ""),
    ] == told  # fmt: skip
    assert "disk full" in caplog.text


def test_one_line() -> None:
    """One line says what a saga and a step are."""
    steps = Calls().steps()
    assert ("<Saga deploy: 4 steps>", "<SagaStep a>") == (repr(Saga(steps, name="deploy")), repr(steps[0]))


