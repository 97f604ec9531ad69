"""Real processes, quickly, and nothing of them is left over."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from labkit.clock import SystemClock
from labkit.faults import nursery as nurseries
from labkit.faults.child import SIGKILL, Child, _read, starved
from labkit.faults.nursery import CAN_FORK, Nursery, NurseryDied

JOBS = "tests.faults.nursery_jobs"
needs_fork = pytest.mark.skipif(not CAN_FORK, reason="this system has no fork")


@pytest.fixture(params=["fork", "spawn"])
def nursery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    """A nursery that forks, and one on a system without fork."""
    if request.param == "spawn":
        monkeypatch.setattr(nurseries, "CAN_FORK", False)
    elif not CAN_FORK:
        pytest.skip("this system has no fork")
    made = Nursery([JOBS])
    yield made
    made.close()


def told(child: Child) -> list[dict[str, Any]]:
    return list(child.reports(30, 60))


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it becomes true within ten seconds: for what other processes do in their own time."""
    clock = SystemClock()
    give_up = clock.monotonic() + 10
    while not condition() and clock.monotonic() < give_up:
        clock.sleep(0.01)
    return condition()


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_job_reports_and_ends(nursery: Nursery) -> None:
    """Its arguments arrive, what it prints goes nowhere, its exit is told."""
    child = nursery.start(f"{JOBS}:echo", word="é", number=3)
    (answer,) = told(child)
    assert ("é", 3, child.pid) == (answer["word"], answer["number"], answer["pid"])
    assert answer["pid"] != os.getpid()
    assert child.wait() == child.wait() == 0


def test_a_long_report_arrives_whole(nursery: Nursery) -> None:
    """More than a pipe holds, in lines."""
    child = nursery.start(f"{JOBS}:many", times=50, size=20_000)
    answers = told(child)
    assert list(range(50)) == [answer["number"] for answer in answers]
    assert {20_000} == {len(answer["text"]) for answer in answers}
    assert child.wait() == 0


def test_what_was_reported_before_a_sigkill_is_there(nursery: Nursery) -> None:
    """The parent survives its child, and the next job runs."""
    for _ in range(3):
        child = nursery.start(f"{JOBS}:die")
        assert [{"last": "words"}] == told(child)
        assert child.wait() == -SIGKILL
    assert told(nursery.start(f"{JOBS}:echo"))


def test_a_job_that_fails_says_why(nursery: Nursery) -> None:
    """The traceback is the last report."""
    child = nursery.start(f"{JOBS}:fail")
    assert "ValueError: a reason" in told(child)[-1]["failed"]
    assert child.wait() == 1
    assert nursery.start("no.such.module:job").wait() == 1
    assert nursery.start(f"{JOBS}:leave").wait() == 1


def test_a_silent_job_can_be_given_up_and_killed(nursery: Nursery) -> None:
    """With whatever it had started."""
    child = nursery.start(f"{JOBS}:wait_for_ever", with_child=True)
    pids = list(next(child.reports(30, 30)).values())
    with pytest.raises(TimeoutError):
        list(child.reports(0.1, 1))
    child.kill()
    assert child.wait() == -SIGKILL
    child.kill()  # a second time is fine
    assert all(eventually(lambda pid=pid: gone(pid)) for pid in pids)  # type: ignore[misc]


def test_nothing_is_left_over(nursery: Nursery) -> None:
    """No zombie, no descriptor, no thread, after many jobs."""
    nursery.start(f"{JOBS}:echo").wait()
    gc.collect()
    me = psutil.Process()
    before = (me.num_fds(), me.num_threads())
    children = [nursery.start(f"{JOBS}:{job}") for job in ("die", "echo", "fail") * 3]
    for child in children:
        told(child)
        child.wait()
    assert eventually(lambda: before == (me.num_fds(), me.num_threads()))  # a thread that was joined may still be on its way out
    below = [process for one in me.children() for process in [one, *one.children(recursive=True)]]
    assert [] == [process for process in below if process.status() == psutil.STATUS_ZOMBIE]
    assert {child.pid for child in children}.isdisjoint(process.pid for process in below)


@needs_fork
def test_a_child_inherits_nothing_that_is_open() -> None:
    """Only its standard files and its pipe, however many siblings are alive."""
    nursery = Nursery([JOBS])
    try:
        siblings = [nursery.start(f"{JOBS}:wait_for_ever") for _ in range(3)]
        (answer,) = told(nursery.start(f"{JOBS}:open_files"))
        for child in siblings:
            child.kill()
            child.wait()
    finally:
        nursery.close()
    assert len(answer["open"]) <= 8, answer


@needs_fork
def test_two_nurseries_at_once() -> None:
    """Each has a parent of its own, and their children do not meet."""
    first, second = Nursery([JOBS]), Nursery([JOBS])
    try:
        one, other = first.start(f"{JOBS}:echo"), second.start(f"{JOBS}:wait_for_ever")
        (answer,) = told(one)
        assert answer["threads"] == 1
        assert next(other.reports(30, 30))["pid"] == other.pid
        first.close()
        assert not gone(other.pid)
    finally:
        first.close()
        second.close()
    assert eventually(lambda: gone(other.pid))


@needs_fork
def test_a_nursery_leaves_with_its_caller_and_takes_its_children() -> None:
    """The caller is killed: the parent, its child and the child's child are gone."""
    outer = Nursery([JOBS])
    try:
        caller = outer.start(f"{JOBS}:nursery_in_a_child")
        answer = next(caller.reports(30, 30))
        os.kill(caller.pid, signal.SIGKILL)
        assert caller.wait() == -SIGKILL
        assert all(eventually(lambda pid=pid: gone(pid)) for pid in answer.values())  # type: ignore[misc]
    finally:
        outer.close()


@needs_fork
def test_a_nursery_that_is_stopped() -> None:
    """Whoever waits for a job, or for its exit, in another thread has an end of it, what was started is gone, and no further job can be."""
    nursery, ended = Nursery([JOBS]), list[type[BaseException]]()
    try:
        child = nursery.start(f"{JOBS}:wait_for_ever")
        (told_so,) = [next(child.reports(30, 30))]

        def wait() -> None:
            try:
                child.wait()
            except NurseryDied as error:
                ended.append(type(error))

        waits = threading.Thread(target=wait)
        waits.start()
        nursery.stop()
        waits.join()
        assert [NurseryDied] == ended
        assert [] == list(child.reports(30, 30))
        with pytest.raises(NurseryDied, match="stopped"):
            nursery.start(f"{JOBS}:echo")
    finally:
        nursery.close()
    assert eventually(lambda: gone(told_so["pid"]))


@needs_fork
def test_a_killed_parent_is_replaced() -> None:
    """Who kills the warm parent gets an error once at most, and a new one then."""
    nursery = Nursery([JOBS])
    try:
        child = nursery.start(f"{JOBS}:wait_for_ever")
        next(child.reports(30, 30))
        assert nursery._parent is not None
        nursery._parent.kill()
        nursery._parent.wait()
        with pytest.raises(NurseryDied):
            child.wait()
        child.kill()
        assert told(nursery.start(f"{JOBS}:echo"))
    finally:
        nursery.close()


@needs_fork
def test_a_child_that_did_well_is_used_again_but_not_for_a_doomed_job() -> None:
    """With `reuse`; one that failed is not, and each exit is told all the same."""
    nursery = Nursery([JOBS], reuse=True)

    def run(job: str, *, doomed: bool = False) -> tuple[int, int]:
        child = nursery.start(f"{JOBS}:{job}", doomed=doomed)
        told(child)
        return child.pid, child.wait()

    try:
        first, status = run("echo")
        assert (first, 0) == run("echo") == (first, status)
        other, status = run("die", doomed=True)
        assert (True, -SIGKILL) == (other != first, status)
        assert (first, 1) == run("fail")
        assert run("echo")[0] not in (first, other)
    finally:
        nursery.close()


@needs_fork
def test_a_child_that_is_killed_while_it_waits_is_replaced() -> None:
    """Nobody hears of it, and the next job finds another."""
    nursery = Nursery([JOBS], reuse=True)
    try:
        child = nursery.start(f"{JOBS}:echo")
        told(child)
        assert child.wait() == 0
        assert nursery._parent is not None
        idle = psutil.Process(nursery._parent.pid).children()
        for one in idle:
            one.kill()
        assert all(eventually(lambda one=one: gone(one.pid)) for one in idle)  # type: ignore[misc]
        for _ in range(3):
            child = nursery.start(f"{JOBS}:echo")
            assert told(child)
            assert child.wait() == 0
    finally:
        nursery.close()


@needs_fork
def test_nobody_outlives_a_killed_parent() -> None:
    """The children that wait for a job see that the parent is gone, and leave."""
    nursery = Nursery([JOBS])
    try:
        told(nursery.start(f"{JOBS}:echo"))
        assert nursery._parent is not None
        below = psutil.Process(nursery._parent.pid).children()
        nursery._parent.kill()
        assert all(eventually(lambda one=one: gone(one.pid)) for one in below)  # type: ignore[misc]
    finally:
        nursery.close()


def test_a_child_finds_the_modules_that_we_find(
    nursery: Nursery, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on our path is on a child's."""
    (tmp_path / "only_here.py").write_text("def job(report):\n    report({'found': True})\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert [{"found": True}] == told(nursery.start("only_here:job"))


@pytest.mark.parametrize(
    ("before", "now", "starves"),
    [
        (("R", 1.0), ("R", 1.2), True),
        (("R", 1.0), ("R", 3.0), False),
        (("R", 1.0), ("S", 1.0), False),
        (None, ("R", 1.0), False),
        (("R", 1.0), None, False),
    ],
)
def test_who_is_given_no_processor_is_not_silent(before: tuple[str, float] | None, now: tuple[str, float] | None, starves: bool) -> None:
    """A process starves when it is ready to run and has had less than half of the processor; one that sleeps does not."""
    assert starves == starved(before, now, 2.0)


def test_a_line_that_is_no_json_is_a_value_error() -> None:
    """Whatever stands in a report, reading it raises `ValueError` and no other error."""
    for line in (b"[" * 60_000, b"{", b"\xff", b"9" * 5_000):
        with pytest.raises(ValueError):
            _read(line)
