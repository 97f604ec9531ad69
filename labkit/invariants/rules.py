"""What must hold of every run, one rule for each kind of broken run: the reference against which the runs of the exercise were held.

Each rule returns None, or one sentence that says which task and what. What no rule speaks of is not settled: a step that is undone without having been
done (its outcome was unknown), an undo that is missing (it may have failed for good), a word to those who watch after the last one.

Not handled here: runs that are not over, and tasks that were put back to work after they had failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from labkit.invariants.events import TraceEvent
from labkit.invariants.trace import Trace

Rule = Callable[[Trace], "str | None"]
OVER = ("completed", "failed", "cancelled")
LAST_WORDS = ("completed", "error")


def lost_task(trace: Trace) -> str | None:
    """What was submitted comes to an end."""
    for event in trace.events:
        task = trace.tasks.get(event.task_id)
        if event.kind == "submitted" and (task is None or task.state not in OVER):
            return f"{event.task_id} was submitted, and is {task.state if task else 'gone'} at the end"
    return None


def doubled_effect(trace: Trace) -> str | None:
    """The outside world does a thing once for a task."""
    first: dict[tuple[str, str], TraceEvent] = {}
    for event in trace.events:
        if event.kind == "effect":
            if (event.task_id, event.name) in first:
                before = first[event.task_id, event.name].key
                keys = f"under the keys {before!r} and {event.key!r}" if event.key or before else "without a key"
                return f"{event.name} happened twice for {event.task_id}, {keys}"
            first[event.task_id, event.name] = event
    return None


def zombie_write(trace: Trace) -> str | None:
    """Whoever writes holds the newest claim."""
    holder: dict[str, TraceEvent] = {}
    for event in trace.events:
        if event.kind == "claimed":
            holder[event.task_id] = event
        held = holder.get(event.task_id)
        if event.kind == "written" and held is not None and (event.worker, event.attempt) != (held.worker, held.attempt):
            return f"{_who(event)} wrote {event.task_id} after {_who(held)} had claimed it"
    return None


def _who(event: TraceEvent) -> str:
    return f"{event.worker} (attempt {event.attempt})"


def wrong_undo_order(trace: Trace) -> str | None:
    """Of two steps that are undone, the one that was done later goes first."""
    done: dict[str, list[str]] = {}
    undone: dict[str, list[str]] = {}
    for event in trace.events:
        if event.kind == "done":
            done.setdefault(event.task_id, []).append(event.name)
        if event.kind == "undone" and event.name in done.get(event.task_id, ()):
            steps, earlier = done[event.task_id], undone.setdefault(event.task_id, [])
            below = next((name for name in earlier if steps.index(name) < steps.index(event.name)), None)
            if below is not None:
                return f"{event.task_id} undid {below} before {event.name}, which was done after it"
            earlier.append(event.name)
    return None


def missing_end(trace: Trace) -> str | None:
    """Those who watch a task hear of its end."""
    ends = _ends(trace)
    return next((f"nobody was told how {task} ended" for task, count in ends.items() if count == 0), None)


def doubled_end(trace: Trace) -> str | None:
    """They hear of it once."""
    ends = _ends(trace)
    return next((f"the end of {task} was told {count} times" for task, count in ends.items() if count > 1), None)


def _ends(trace: Trace) -> Mapping[str, int]:
    ends = {event.task_id: 0 for event in trace.events if event.kind == "submitted"}
    for event in trace.events:
        if event.kind == "progress" and event.name in LAST_WORDS:
            ends[event.task_id] = ends.get(event.task_id, 0) + 1
    return ends


RULES: dict[str, Rule] = {
    "lost task": lost_task,
    "doubled effect": doubled_effect,
    "zombie write": zombie_write,
    "wrong undo order": wrong_undo_order,
    "missing end": missing_end,
    "doubled end": doubled_end,
}


def broken(trace: Trace) -> dict[str, str]:
    """Kind -> sentence, of each rule that this run breaks."""
    return {kind: said for kind, rule in RULES.items() if (said := rule(trace))}
