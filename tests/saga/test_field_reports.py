"""Faults that people reported in systems that do this job, and what must happen here instead."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from labkit.errors import TerminalError
from labkit.faults import sweep
from labkit.saga import SagaLog, run_saga
from tests.saga import worlds
from tests.saga.worlds import Calls, Died, Landed, ListLog, how


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_b32_undo_in_exact_reverse_order(count: int) -> None:
    """n steps, failing at each k: exactly k-1 down to 1 is undone, each once."""
    names = tuple(f"step{n}" for n in range(count))
    for place, name in enumerate(names):
        calls = Calls(names)
        calls.fail(f"{name}:do", ValueError())
        assert ("failed", name) == how(lambda calls=calls: run_saga(calls.steps(), ListLog()))  # type: ignore[misc]
        assert [f"{n}:undo" for n in reversed(names[:place])] == calls.made[place + 1 :]


def test_b30_an_effect_without_its_receipt_is_not_done_twice() -> None:
    """The process dies after the effect and before the record: asked again under its key, the world holds one of each."""
    report = sweep(worlds.FORWARD).or_raise()
    assert report.closure is not None
    assert report.closure.crash_points > 0


def test_b30_a_lost_answer_is_no_blind_second_run() -> None:
    """An unknown outcome is logged as unknown and undone; the action itself is not called again."""
    calls, log = Calls(), ListLog()
    calls.fail("c:do", Landed())
    assert ("failed", "c") == how(lambda: run_saga(calls.steps(), log))
    assert 1 == calls.made.count("c:do")
    assert ("unknown", "c") in log.kept


@pytest.mark.parametrize("died_in", ["c:undo", "b:undo", "a:undo"])
def test_b33_a_restart_finishes_only_the_remaining_undos(engine: Engine, died_in: str) -> None:
    """Killed in an undo: what is logged as undone is left alone, and the outcome is that of an undisturbed run."""
    calls = Calls()
    calls.fail("d:do", ValueError())
    calls.fail(died_in, Died())
    with pytest.raises(Died):
        run_saga(calls.steps(), SagaLog(engine, "s1"))
    before = list(calls.made)
    assert ("failed", "d") == how(lambda: run_saga(calls.steps(), SagaLog(engine, "s1")))
    assert before[-1] == calls.made[len(before)]
    assert set(before[4:-1]).isdisjoint(calls.made[len(before) :])
    assert set() == calls.there


@pytest.mark.parametrize("how_not", ["no undo", "not known any more", "refused"])
def test_b33_what_cannot_be_undone_is_not_called_compensated(engine: Engine, how_not: str) -> None:
    """The others still run, the end is compensation_failed, and every later call tells what remains."""
    calls = Calls()
    calls.fail("d:do", ValueError())
    calls.fail("b:undo", *[TerminalError()] * (9 if how_not == "refused" else 0))
    steps = calls.steps()
    if how_not == "no undo":
        steps[1] = replace(steps[1], compensate=None)
    if how_not == "not known any more":
        calls.fail("c:undo", Died())
        with pytest.raises(Died):
            run_saga(steps, SagaLog(engine, "s1"))
        del steps[1]
    for _ in range(2):
        assert ("remains", ["b"]) == how(lambda: run_saga(steps, SagaLog(engine, "s1")))
    entries = SagaLog(engine, "s1").entries()
    assert ("compensation_failed", "") == entries[-1]
    assert "compensated" not in {event for event, _ in entries}
    assert {"b"} == calls.there


def test_b33_no_final_event_before_the_last_undo() -> None:
    """The end is written after every undo is, never with work still open."""
    calls, log = Calls(), ListLog()
    calls.fail("d:do", Landed())
    how(lambda: run_saga(calls.steps(), log))
    undos = [entry for entry in log.kept if entry[0] in ("undoing", "undone")]
    assert [("undoing", "undone")] * 4 == [(a[0], b[0]) for a, b in list(pairwise(undos))[::2]]
    assert [("compensated", "")] == log.kept[-1:]
