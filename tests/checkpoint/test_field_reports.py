"""Faults that people reported in systems with checkpoints: each kind is impossible here, or answered as it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from labkit.agent.artifacts import ArtifactStore
from labkit.checkpoint import CheckpointStore
from labkit.clock import VirtualClock
from labkit.errors import CheckpointCorrupt, RetriesExhausted, UnstorableValue, ValueTooLarge
from labkit.retry import execute_with_retry
from labkit.task import Task, TaskState
from tests.checkpoint.helpers import bytes_stored, known, manager_of, seqs

TASK = Task("t1", "deploy", TaskState.RUNNING)
CALLS = ("call-1", "call-2", "call-3")


def test_b21_a_torn_checkpoint_is_no_first_run(engine: Engine, clock: VirtualClock) -> None:
    """B21: cut anywhere, it is CheckpointCorrupt, never a first run; the damaged text stays and no save writes over it."""
    store = CheckpointStore(engine, now=clock.now)
    manager = manager_of(store, clock)
    manager.maybe_save(TASK, "every_step")
    with engine.begin() as connection:
        whole = connection.execute(text("SELECT data FROM checkpoints")).scalar_one()
    for length in range(0, len(whole), 9):
        with engine.begin() as connection:
            connection.execute(text("UPDATE checkpoints SET data = :cut"), {"cut": whole[:length]})
        with pytest.raises(CheckpointCorrupt):
            manager.validate_and_resume("t1")
        assert 0 == manager.cleanup("t1")
    store.append("t1", vars(TASK), expected=1)
    with engine.begin() as connection:
        assert whole[:length] == connection.execute(text("SELECT data FROM checkpoints WHERE seq = 1")).scalar_one()


def run_tools(engine: Engine, clock: VirtualClock, stop_after: int, all_of_them: bool = True) -> list[str]:
    """A process of its own: goes on from what is stored, runs at most `stop_after` tools and dies. Which ones it ran."""
    manager = manager_of(CheckpointStore(engine, now=clock.now), clock, max_count=1)
    done, ran = known(manager), list[str]()
    for call in CALLS:
        if call not in done and len(ran) < stop_after:
            done = {**done, call: "ok"}
            ran.append(call)
            manager.maybe_save(TASK, "every_step", extra={"done": done if all_of_them else {call: "ok"}})
    manager.cleanup("t1")
    return ran


def test_b24_pruning_forgets_no_tool(engine: Engine, clock: VirtualClock) -> None:
    """B24: keep one, two of three tools done, prune, resume in a new process: only the third one runs."""
    assert [["call-1", "call-2"], ["call-3"], []] == [run_tools(engine, clock, n) for n in (2, 3, 3)]


def test_b24_a_checkpoint_that_leans_on_older_ones_forgets(engine: Engine, clock: VirtualClock) -> None:
    """The planted bug: a checkpoint that names only its own tool lets pruning forget the others, and one runs again."""
    assert ["call-1", "call-2"] == run_tools(engine, clock, 2, all_of_them=False)
    assert "call-1" in run_tools(engine, clock, 3, all_of_them=False)


def test_b24_a_new_process_keeps_the_count(engine: Engine, clock: VirtualClock) -> None:
    """B24: the count is that of the stored rows, so a manager in a new process enforces it with its first save."""
    for _ in range(5):
        CheckpointStore(engine, now=clock.now).append("t1", vars(TASK))
    manager_of(CheckpointStore(engine, now=clock.now), clock, max_count=2).maybe_save(TASK, "every_step")
    assert [5, 6] == seqs(CheckpointStore(engine))


@pytest.mark.parametrize("value", ["a\x00b", "\ud800"])
@pytest.mark.parametrize("field", ["user_input", "result", "error", "worker_id"])
def test_b25_what_cannot_be_stored(engine: Engine, clock: VirtualClock, field: str, value: str) -> None:
    """B25: NUL and a lone surrogate are refused on both databases alike, where they stand, and what was saved stays."""
    manager = manager_of(CheckpointStore(engine, now=clock.now), clock)
    manager.maybe_save(TASK, "every_step")
    with pytest.raises(UnstorableValue) as caught:
        manager.maybe_save(replace(TASK, **{field: value}), "every_step")
    assert (field, 1) == (caught.value.path, manager.validate_and_resume("t1").seq)


def run_steps(engine: Engine, clock: VirtualClock, steps: int, keep: Callable[[bytes], Any]) -> int:
    """Bytes in the database after so many steps with 20 kB of output each, all checkpoints kept."""
    manager = manager_of(CheckpointStore(engine, now=clock.now), clock, max_count=10_000)
    done: dict[str, Any] = {}
    for step in range(steps):
        output = f"{step:04}".encode() * 5_000
        done = {**done, f"call-{step}": keep(output)}
        manager.maybe_save(replace(TASK, id=f"run-{steps}"), "every_step", extra={"done": done})
    return bytes_stored(engine)


def test_b27_bytes_grow_with_the_results(sqlite: Engine, clock: VirtualClock) -> None:
    """B27: 100 steps of 20 kB cost about what the outputs cost, and twice what 50 steps cost."""
    artifacts = ArtifactStore(sqlite)

    def keep(output: bytes) -> str:
        return artifacts.put(output, type="log", summary="ok").artifact_id

    half = run_steps(sqlite, clock, 50, keep)
    with sqlite.begin() as connection:
        connection.execute(text("DELETE FROM checkpoints"))
        connection.execute(text("DELETE FROM artifacts"))
    whole = run_steps(sqlite, clock, 100, keep)
    assert 50 * 20_000 < half < 1.2 * 50 * 20_000
    assert 100 * 20_000 < whole < 1.2 * 100 * 20_000
    assert whole < 2.2 * half


def test_b27_full_copies_grow_with_the_square(sqlite: Engine, clock: VirtualClock) -> None:
    """The planted bug: outputs in the checkpoints themselves cost four times as much for twice the steps."""
    half = run_steps(sqlite, clock, 10, bytes.decode)
    whole = run_steps(sqlite, clock, 20, bytes.decode) - half
    assert whole > 3.5 * half


def test_b27_too_large_is_terminal(engine: Engine, clock: VirtualClock) -> None:
    """B27: over the cap the save is refused once and not retried; as an artifact the same 10 MB go through."""
    manager = manager_of(CheckpointStore(engine, now=clock.now), clock)
    output, tries = "line of the log\n" * 655_360, list[int]()

    def save(result: str) -> Callable[[], bool]:
        return lambda: tries.append(1) or manager.maybe_save(replace(TASK, result=result), "every_step")

    with pytest.raises(ValueTooLarge, match="ArtifactStore"):
        execute_with_retry(save(output), 5, clock)
    assert ([1], clock.start) == (tries, clock.now())
    artifacts = ArtifactStore(engine)
    kept = artifacts.put(output, type="log", summary="the log")
    assert execute_with_retry(save(artifacts.excerpt(kept.artifact_id, 3, 500)), 5, clock)
    assert output.encode() == artifacts.get(kept.artifact_id).content


def test_transient_errors_are_retried(clock: VirtualClock) -> None:
    """The twin: what is not terminal is tried again, so the test above sees a retry where there is one."""
    with pytest.raises(RetriesExhausted):
        execute_with_retry(lambda: 1 / 0, 2, clock)
    assert clock.elapsed > 0
