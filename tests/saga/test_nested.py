"""A saga as a step of another: done as a unit, undone as a unit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from labkit.clock import VirtualClock
from labkit.errors import TerminalError
from labkit.saga import Saga, SagaLog, SagaStep, run_saga, saga_step
from tests.saga.worlds import Calls, Died, Landed, ListLog, how


class Two:
    """Outer steps a, [b: x, y, z], c in one world."""

    def __init__(self) -> None:
        self.outer, self.inner = Calls(("a", "c")), Calls(("x", "y", "z"), "s1:b")
        self.inner.made = self.outer.made  # one list of all calls, in order
        self.logs = {"s1": ListLog("s1"), "s1:b": ListLog("s1:b")}

    def run(self) -> tuple[str, object]:
        first, last = self.outer.steps()
        saga = Saga(self.inner.steps(), clock=VirtualClock())
        steps = [first, saga_step("b", saga, self.logs.__getitem__), last]
        return how(lambda: run_saga(steps, self.logs["s1"]))

    @property
    def there(self) -> set[str]:
        return self.outer.there | self.inner.there


def test_done_as_a_unit() -> None:
    """Its steps run in its place, under keys of their own."""
    two = Two()
    assert ("completed", None) == two.run()
    assert ["a:do", "x:do", "y:do", "z:do", "c:do"] == two.outer.made
    assert [("completed", "")] == [log.kept[-1] for log in two.logs.values()][:1]


def test_undone_as_a_unit() -> None:
    """A later step fails: all of its steps are taken back in reverse, between the others."""
    two = Two()
    two.outer.fail("c:do", ValueError())
    assert ("failed", "c") == two.run()
    assert ["z:undo", "y:undo", "x:undo", "a:undo"] == two.outer.made[5:]
    assert set() == two.there
    assert ("failed", "c") == two.run()
    assert 9 == len(two.outer.made)


@pytest.mark.parametrize("error", [ValueError(), Landed()])
def test_half_way_it_has_undone_itself(error: Exception) -> None:
    """One of its steps fails: it undoes itself, the outer saga undoes the rest and names the whole."""
    two = Two()
    two.inner.fail("y:do", error)
    assert ("failed", "b") == two.run()
    own = ["y:undo"] if isinstance(error, Landed) else []
    assert ["a:do", "x:do", "y:do", *own, "x:undo", "a:undo"] == two.outer.made
    assert ("failed", "b") in two.logs["s1"].kept
    assert set() == two.there


def test_what_remains_inside_remains_outside() -> None:
    """An inner undo that failed for good: the outer saga goes on undoing, and tells the step that is not undone as a whole."""
    two = Two()
    two.inner.fail("z:do", ValueError())
    two.inner.fail("x:undo", *[TerminalError()] * 9)
    assert ("remains", ["b"]) == two.run()
    assert {"x"} == two.there
    assert ("remains", ["b"]) == two.run()


@pytest.mark.parametrize("at", range(1, 9))
def test_an_error_of_the_inner_log_is_no_failure(at: int) -> None:
    """On the way forward and on the way back: it goes through both sagas, nothing turns round, and calling again goes on."""
    two = Two()
    two.outer.fail("c:do", ValueError())
    count = iter(range(1, 99))

    def before() -> None:
        if next(count) == at:
            raise OSError("no database")

    two.logs["s1:b"].before = before
    with pytest.raises(OSError):
        two.run()
    assert ("failed", "c") == two.run()
    assert set() == two.there
    assert "unknown" not in {event for event, _ in two.logs["s1"].kept}


@pytest.mark.parametrize("call", ["x:do", "z:do", "z:undo", "x:undo"])
def test_a_crash_inside(call: str) -> None:
    """Both logs go on from where they were."""
    two = Two()
    two.outer.fail("c:do", ValueError())
    two.inner.fail(call, Died())
    with pytest.raises(Died):
        two.run()
    assert ("failed", "c") == two.run()
    assert set() == two.there


def test_undoing_what_never_began_closes_it() -> None:
    """Its undo comes first: it will not run any more, so a late start finds it closed."""
    calls, log = Calls(), ListLog()
    saga = Saga(calls.steps(), clock=VirtualClock())
    saga.undo(log)
    saga.undo(log)
    assert ("failed", "") == how(lambda: saga.run(log))
    assert ([], [("compensated", "")]) == (calls.made, log.kept)


def test_undo_tells_what_remains(engine: Engine) -> None:
    """A complete saga is taken back; a step that has no undo remains, each time it is asked."""
    calls = Calls(saga_id="s2")
    steps = [replace(step, compensate=None) if step.name == "b" else step for step in calls.steps()]
    saga = Saga(steps, clock=VirtualClock())
    saga.run(SagaLog(engine, "s2"))
    for _ in range(2):
        assert ("remains", ["b"]) == how(lambda: saga.undo(SagaLog(engine, "s2")))
    assert {"b"} == calls.there


def test_in_a_database(engine: Engine) -> None:
    """Two logs in one table."""
    calls = Calls(("x",), "s3:b")
    nested = saga_step("b", Saga(calls.steps(), clock=VirtualClock()), lambda saga_id: SagaLog(engine, saga_id))
    run_saga([nested, SagaStep("c", lambda key: None)], SagaLog(engine, "s3"))
    assert [("started", "x"), ("done", "x"), ("completed", "")] == SagaLog(engine, "s3:b").entries()
