"""What must hold of `endpoint` while `submit` takes its time: the loop turns, and the answer waits for it.

Not handled here: what is answered (see `endpoint_rules`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.asgi import NOT_ASYNC
from labkit.checks.endpoint_rules import nothing
from labkit.checks.exercise import Finding, Seen

BEFORE = "answers before the task is in the queue"


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
    events = seen.end.last.value["events"]
    late = "begins after the answer" in events or ("answered" in events and "ends" not in events[: events.index("answered")])
    if late and 200 <= seen.end.last.value["status"] < 300:
        return Finding(f"the answer was {seen.end.last.value['status']} while submit was still at work, or not yet called", BEFORE)
    return None


def was_held(seen: Seen, facts: dict[str, Any]) -> bool:
    return bool(seen.end.last.value["events"]) and bool(seen.end.last.value["status"])
