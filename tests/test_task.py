"""Task and TaskState: values that print one line, and the table of transitions."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from labkit.errors import InvalidTransition
from labkit.task import FINAL, TRANSITIONS, Task, TaskState, check_transition


def test_states_are_their_text() -> None:
    """A state compares, hashes, prints and formats like its lower-case text."""
    assert [state.name.lower() for state in TaskState] == list(TaskState)
    assert "pending" in {TaskState.PENDING}
    assert TaskState.PENDING in {"pending": 1}
    assert "running" == f"{TaskState.RUNNING}" == str(TaskState("running"))


def test_transitions() -> None:
    """The table is the contract's; completed and cancelled are final."""
    contract = {
        "pending": {"running", "cancelled"},
        "running": {"completed", "failed", "cancelled", "waiting", "pending", "running"},
        "waiting": {"pending", "running", "failed", "cancelled"},
        "failed": {"pending", "running"},
        "completed": set(),
        "cancelled": set(),
    }
    assert contract == TRANSITIONS
    assert {"completed", "cancelled"} == FINAL


@pytest.mark.parametrize("old", [*TaskState, "running"])
@pytest.mark.parametrize("new", [*TaskState, "completed"])
def test_check_transition(old: str, new: str) -> None:
    """A pair of the table returns, every other raises InvalidTransition and names both; text will do."""
    if new in TRANSITIONS[TaskState(old)]:
        check_transition(old, new)
    else:
        with pytest.raises(InvalidTransition, match=f"from {old} to {new}"):
            check_transition(old, new)


def test_task() -> None:
    """A task is frozen, needs only id and user_input, and its fields stand in the order of the contract."""
    names = "id user_input state result error priority available_at worker_id attempt lease_expires_at idempotency_key"
    assert [*names.split(), "created_at", "updated_at", "version"] == [field.name for field in fields(Task)]
    task = Task("t1", "deploy")
    assert (TaskState.PENDING, 0, 0, None) == (task.state, task.version, task.attempt, task.result)
    with pytest.raises(FrozenInstanceError):
        task.result = "x"  # type: ignore[misc]


def test_task_prints_one_line() -> None:
    """A task prints what matters in one line."""
    task = Task("t1", "secret\ninput")
    assert "<Task t1 pending v0>" == str(task) == repr(task)
    assert "<Task t1 running w2 attempt=2 v3>" == repr(
        replace(task, state=TaskState.RUNNING, worker_id="w2", attempt=2, version=3)
    )
