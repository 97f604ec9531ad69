"""A run that checkpoints and resumes, crashed wherever it can be; and two sessions that go on from one checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from labkit.checkpoint import CheckpointStore
from labkit.errors import StaleCheckpoint
from labkit.faults import End, Scenario, exactly_once, interleave, search, sweep
from labkit.faults.process import Process
from labkit.task import Task, TaskState
from tests.checkpoint.helpers import OnlyThree, known, manager_of, of_process

POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
TASK = Task("t1", "deploy shop", TaskState.RUNNING)
TOOLS = ("create_namespace", "deploy_container", "configure_route")


def rows(end: End) -> list[dict[str, Any]]:
    return end.rows["checkpoints"]


def deployment(process: Process, *, tools: tuple[str, ...] = TOOLS, keyed: bool = True) -> list[str]:
    """Three tools, a checkpoint after each that names all that ran, and one at the end. What is on record is not run again."""
    manager = of_process(process)
    done, ran = known(manager), []
    for name in tools:
        if name not in done:
            done = {**done, name: getattr(process.cloud, name)("shop", key=f"t1:{name}" if keyed else None)}
            ran.append(name)
            manager.maybe_save(TASK, "every_step", extra={"done": done})
    end = replace(TASK, state=TaskState.COMPLETED, result="deployed")
    if manager.validate_and_resume("t1").data["state"] != TaskState.COMPLETED:
        manager.maybe_save(end, "every_iteration", extra={"done": done})
    return ran


def only_the_end_is_kept(end: End) -> str | None:
    """The newest is the completed one, with everything that ran; `max_count=1` holds in whichever process came last."""
    if end.last.how != "returned":
        return None
    found = rows(end)
    whole = (
        len(found) == 1
        and '"state":"completed"' in found[0]["data"]
        and all(e.name in found[0]["data"] for e in end.effects)
    )
    return None if whole else f"{found}"


def scenario(**options: Any) -> Scenario:
    return Scenario(
        "checkpointed",
        lambda process: deployment(process, **options),
        [*(exactly_once(name) for name in options.get("tools", TOOLS)), only_the_end_is_kept],
        goal=lambda end: end.last.how == "returned" and len(end.last.value) < len(TOOLS),
    )


@pytest.mark.parametrize("database", ["memory", "sqlite", POSTGRES])
def test_every_crash_of_every_recovery(database: str) -> None:
    """Crashed anywhere, any number of times, the run goes on from its newest checkpoint: each effect once, one row left."""
    report = sweep(scenario(), database)
    assert "holds" == report.verdict, report
    assert report.closure is not None
    assert report.closure.closed
    assert report.closure.crash_points > 20


def test_the_sweep_sees_a_missing_key() -> None:
    """A tool without a key is run twice by a crash between its effect and the checkpoint, and that is found."""
    assert "broken" == sweep(scenario(tools=TOOLS[:1], keyed=False)).verdict


def drawn() -> Scenario:
    """The deployment, of which only this must hold: no effect twice."""
    once = [lambda end, name=name: f"{name} twice" if end.count(name) > 1 else None for name in TOOLS]
    return replace(scenario(), invariants=once)


def test_drawn_schedules() -> None:
    """Crashes, errors and timeouts mixed leave no effect twice."""
    report = search(drawn(), examples=60)
    assert "holds" == report.verdict, report


def cleaning(plain: bool) -> Scenario:
    """Five checkpoints and a cleanup that leaves two; what restarts only looks at the newest and cleans nothing."""

    def setup(process: Process) -> None:
        for step in range(1, 6):
            CheckpointStore(process.engine).append("t1", vars(TASK) | {"result": str(step)})

    def clean(process: Process) -> int:
        store = CheckpointStore(process.engine)
        return manager_of(OnlyThree(store) if plain else store, process.clock, max_count=2).cleanup("t1")

    def look(process: Process) -> str:
        return str(manager_of(CheckpointStore(process.engine), process.clock).validate_and_resume("t1").data["result"])

    def newest_is_there(end: End) -> str | None:
        return None if end.last.value in (3, "5") else f"{end.last}"

    def oldest_went_first(end: End) -> str | None:
        left = [row["seq"] for row in rows(end)]
        allowed = [[1, 2, 3, 4, 5], [4, 5]] + [[2, 3, 4, 5], [3, 4, 5]] * plain
        return None if left in allowed else f"left: {left}"

    return Scenario(
        "cleaning", clean, [newest_is_there, oldest_went_first], setup, look, lambda end: end.last.value == "5"
    )


@pytest.mark.parametrize("database", ["memory", POSTGRES])
@pytest.mark.parametrize("plain", [False, True])
def test_crash_inside_cleanup(database: str, plain: bool) -> None:
    """A crash inside a cleanup leaves the newest loadable: by one DELETE all went or none, one by one the oldest went first."""
    report = sweep(cleaning(plain), database)
    assert "holds" == report.verdict, report


def sessions(careful: bool, max_count: int) -> Scenario:
    """Two sessions load checkpoint 4 and both save a turn; who is told that it was not first loads and applies its turn again."""

    def setup(process: Process) -> None:
        for _ in range(4):
            CheckpointStore(process.engine).append("t1", {**vars(TASK), "extra": {"done": {}}})

    def session(name: str) -> Any:
        def body(process: Process) -> int:
            manager, refused = of_process(process, max_count), 0
            while True:
                parent = manager.validate_and_resume("t1")
                extra = {"done": {**parent.data["extra"]["done"], name: "x"}}
                try:
                    manager.maybe_save(TASK, "every_step", extra=extra, **({"expected": parent.seq} if careful else {}))
                    return refused
                except StaleCheckpoint:
                    refused += 1

        return body

    def no_turn_is_lost(end: End) -> str | None:
        newest = max(rows(end), key=lambda row: row["seq"])
        return (
            None
            if (6, '"A":"x"' in newest["data"], '"B":"x"' in newest["data"]) == (newest["seq"], True, True)
            else f"{newest}"
        )

    def the_count_holds(end: End) -> str | None:
        return None if len(rows(end)) == min(max_count, 6) else f"{len(rows(end))} rows"

    def goal(end: End) -> bool:
        return sum(outcome.value for outcome in end.outcomes if outcome.how == "returned") > 0

    made = [no_turn_is_lost, the_count_holds]
    return Scenario("sessions", [session("A"), session("B")], made, setup, goal=goal if careful else None)


@pytest.mark.parametrize("database", ["sqlite", POSTGRES])
@pytest.mark.parametrize("max_count", [1, 9])
def test_b23_two_sessions_from_one_checkpoint(database: str, max_count: int) -> None:
    """B23: in every order one of two saves wins, the other is told, loads and applies again: no turn is lost."""
    report = interleave(sessions(True, max_count), database)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize("database", ["sqlite", POSTGRES])
def test_without_a_parent_a_turn_is_lost(database: str) -> None:
    """The same without `expected` loses a turn in some order: it is the parent that saves it."""
    assert "broken" == interleave(sessions(False, 9), database).verdict
