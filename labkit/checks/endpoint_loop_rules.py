"""What must hold of `endpoint` while `submit` takes its time: the loop turns, and the answer waits for it.

Not handled here: what is answered (see `endpoint_rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.checks.asgi import NOT_ASYNC
from labkit.checks.endpoint_play import PATIENCE
from labkit.checks.endpoint_rules import nothing
from labkit.checks.exercise import Finding, Seen
from labkit.faults.outcome import cut

BEFORE = "answers before the task is in the queue"
TOO_SOON = "gives up on a submit that takes two seconds, and the task is queued all the same"


def loop_is_free(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """While submit takes its time the loop turns."""
    came = seen.end.last.value
    events = came["events"]
    if came["how"] == NOT_ASYNC:
        return nothing(facts["row"], came)
    if "in the loop" in events:
        said = "submit was called in the thread of the event loop: until it returns, nothing else moves"
        return Finding(said, "calls the blocking submit in the event loop")
    if "blocked" in events:
        said = "submit ran in another thread, and the event loop stood still until it returned"
        return Finding(said, "waits for a thread without giving the loop back")
    return None if events else nothing(facts["row"], came)


def in_order(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The answer comes after submit has returned."""
    came = seen.end.last.value
    events = came["events"]
    late = "begins after the answer" in events or _still_at_work(events, "answered")
    if late and 200 <= came["status"] < 300:
        return Finding(f"the answer was {came['status']} while submit was still at work, or not yet called", BEFORE)
    if _still_at_work(events, "over"):
        said = f"the handler raised {cut(came['raised'], 80)}" if came["raised"] else f"the answer was {came['status']}"
        return Finding(f"submit took {PATIENCE:g} s, and then the task was queued: {said}", TOO_SOON)
    return None


def _still_at_work(events: Sequence[str], then: str) -> bool:
    """Whether submit had not returned when this happened."""
    return then in events and "ends" not in events[: events.index(then)]


def was_held(seen: Seen, facts: dict[str, Any]) -> bool:
    came = seen.end.last.value
    return bool(came["events"]) and bool(came["status"] or "over" in came["events"])
