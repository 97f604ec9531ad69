"""What `idempotency` and `resume` share: a task in a store, work that has an effect in the cloud, and what must be true of both at the end.

Not handled here: what only one of them asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from labkit.checks.common import raised, same_task
from labkit.checks.exercise import Finding, Property, Seen
from labkit.faults.process import Process
from labkit.task import TaskState

EFFECT = "deploy_container"
DONE = "container shop ready"
SWEPT = ("fresh", "left_running", "left_failed", "left_waiting", "falsy_result")
FINISHED = ("completed", "cancelled")


def do_work(process: Process, result: str | None = None) -> Callable[[str, str], str]:
    """The work: deploy what was asked for, under the key that was given. Returns the cloud's answer, or `result`."""

    def work(user_input: str, key: str) -> str:
        process.note("work", f"{user_input} key={key}")
        answer = process.cloud.deploy_container(user_input, key=key)
        return answer if result is None else result

    return work


def call_once(function: Any, process: Process) -> Any:
    return function(process.store, "t1", do_work(process))


def cancel_from_outside(function: Any, process: Process) -> Any:
    """Another actor: a person cancels the task, if it is still there to be cancelled."""
    task = process.store.get("t1")
    assert task is not None
    return process.store.save(replace(task, state=TaskState.CANCELLED))


def _once(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.kind == "interrupted":
        return None
    times = seen.end.count(EFFECT)
    if times > 1:
        return Finding(
            f"{EFFECT} happened {times} times: the effect was done, its record was lost, and it was done again",
            "check-then-act: the work has no key that a restart would use again",
        )
    if seen.kind == "end" and times == 0:
        return Finding("the work was never done", "says done without doing")
    keys = [e.key for e in seen.end.effects]
    if keys and keys[0] != "t1":
        return Finding(f"work was called with the key {keys[0]!r}, not with the task id", "the key is not the task id")
    return None


def _ended(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.kind != "end":
        return None
    stored, wanted = seen.end.tasks.get("t1"), facts.get("result", DONE)
    if stored is None or stored["state"] != "completed":
        return Finding(f"at the end the task is {stored and stored['state']}, not completed", "the end of the work is not stored")
    if stored["result"] != wanted:
        return Finding(f"the stored result is {stored['result']!r}, work returned {wanted!r}", "the result is lost, or a falsy one is taken for none")
    last = seen.end.last
    why = same_task(last.value, stored) if last.how == "returned" else str(last)
    return Finding(why, "does not hand back what is stored") if why else None


def _running_first(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A crash right after the effect shows what was stored while the work was done."""
    stored = seen.end.tasks.get("t1")
    if seen.kind == "left" and seen.end.effects and stored and stored["state"] not in ("running", "completed"):
        return Finding(f"while the work was done the task was stored as {stored['state']}", "running is not saved before the work")
    return None


def _input(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    odd = [note.fault for note in seen.end.notes if note.label == "work" and note.fault != "shop key=t1"]
    return Finding(f"work was called with {odd[0]}, not with the task's input and id", "the key is not the task id") if odd else None


def _unknown(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if raised(seen.end.last, "TaskNotFound") and not seen.end.effects and not seen.end.tasks:
        return None
    return Finding(f"asked for a task that nobody stored, the call {seen.end.last}", "an unknown id is not TaskNotFound")


def _untouched(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored = seen.end.tasks["t1"]
    if seen.end.effects or any(note.label == "work" for note in seen.end.notes):
        return Finding(f"the task was {seen.case} already, and the work was done all the same", "does not look at the state before it works")
    if stored["state"] != seen.case or stored["version"] != 1:
        return Finding(f"a task that was {seen.case} was written again", "writes a finished task")
    last = seen.end.last
    why = same_task(last.value, stored) if last.how == "returned" else str(last)
    return Finding(why, "a finished task is not handed back") if why else None


def _failed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stored, last = seen.end.tasks["t1"], seen.end.last
    wanted = seen.end.token.partition("error(")[2].partition(")")[0]
    if not raised(last, wanted) or "injected" not in last.error["message"]:
        return Finding(f"the work raised {wanted}, and the call {last}", "the error of the work does not come through")
    if stored["state"] != "failed":
        return Finding(f"the work failed and the task is {stored['state']}", "a failure is not stored")
    if not stored["error"] or stored["error"] not in last.error["message"] and last.error["message"] not in stored["error"]:
        return Finding(f"the work failed with {last.error['message']!r}, stored is {stored['error']!r}", "the text of the error is lost")
    return None


def work_properties() -> tuple[Property, ...]:
    """What is asked of both exercises."""
    return (
        Property("effect once", "after any crash the effect is there once, under the task id", _once, SWEPT),
        Property("ends completed", "the task ends completed, with the result of the work, and is returned", _ended, SWEPT),
        Property("running is saved", "running is saved before the work", _running_first, ("fresh",), lambda seen, facts: seen.kind == "left"),
        Property("work is asked rightly", "work gets the task's input and the task id", _input, SWEPT, lambda seen, facts: bool(seen.end.notes)),
        Property("unknown id", "an unknown id is TaskNotFound", _unknown, ("unknown",)),
        Property("finished stays", "a completed or cancelled task is handed back untouched", _untouched, FINISHED),
        Property("failure", "a failing work leaves the task failed with the error's text, and its error comes through", _failed, ("work_fails",)),
    )
