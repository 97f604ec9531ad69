"""Right runs, edited: one thing lost, doubled, dropped or put in another place, so that just one kind of broken run comes of it.

The systems of `labkit.invariants` break in the places where their stories strike. An invariant that looks at the first task only, or at all undone steps but
the last, is found by the same break in every other place.

Not handled here: whether what comes out is broken, and how: a test holds each against the rules (see `labkit.invariants.rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from labkit.invariants.events import TraceEvent
from labkit.invariants.rules import LAST_WORDS
from labkit.invariants.trace import Trace
from labkit.task import TaskState


def with_events(trace: Trace, events: Sequence[TraceEvent]) -> Trace:
    return replace(trace, events=tuple(events))


def submitted(trace: Trace) -> list[str]:
    return [event.task_id for event in trace.events if event.kind == "submitted"]


def is_end(event: TraceEvent) -> bool:
    """Whether those who watch hear of an end."""
    return event.kind == "progress" and event.name in LAST_WORDS


def places(trace: Trace, kind: str, task: str) -> list[int]:
    return [place for place, event in enumerate(trace.events) if (event.kind, event.task_id) == (kind, task)]


def lost(trace: Trace, task: str, state: str) -> Trace:
    """The task never ended: it is in this state ("" for gone), and nothing speaks of an end."""
    kept = [e for e in trace.events if e.task_id != task or not (is_end(e) or e.kind in ("written", "refused"))]
    if state != TaskState.RUNNING:  # nobody ever claimed it
        kept = [event for event in kept if event.task_id != task or event.kind == "submitted"]
    left = {id: one for id, one in trace.tasks.items() if id != task or state}
    if state:
        left[task] = replace(left[task], state=TaskState(state), result=None, error=None)
    return replace(trace, tasks=left, events=tuple(kept))


def told_and_lost(trace: Trace, task: str) -> Trace:
    """The end was told, and the task still runs: it was never written."""
    kept = [event for event in trace.events if (event.kind, event.task_id) != ("written", task)]
    return replace(trace, tasks={**trace.tasks, task: replace(trace.tasks[task], state=TaskState.RUNNING)}, events=tuple(kept))


def doubled_effects(trace: Trace, key: str) -> Iterator[Trace]:
    """Each effect once more, under a key that is formed so from its own: right behind it, and at the end of the run. "" for calls without keys."""
    for place, event in enumerate(trace.events):
        if event.kind == "effect":
            once = replace(event, key=event.key if key else "")
            again = replace(event, key=key.format(event.key))
            before, after = [*trace.events[:place], once], trace.events[place + 1 :]
            yield with_events(trace, [*before, again, *after])
            yield with_events(trace, [*before, *after, again])


def without_ends(trace: Trace) -> Iterator[Trace]:
    """Each end untold."""
    for place, event in enumerate(trace.events):
        if is_end(event):
            yield with_events(trace, [*trace.events[:place], *trace.events[place + 1 :]])


def doubled_ends(trace: Trace, other: bool) -> Iterator[Trace]:
    """Each end told once more, in the `other` word or the same: right behind it, and at the end of the run."""
    for place, event in enumerate(trace.events):
        if is_end(event):
            again = replace(event, name=next(word for word in LAST_WORDS if (word == event.name) != other))
            before, after = trace.events[: place + 1], trace.events[place + 1 :]
            yield with_events(trace, [*before, again, *after])
            if after:
                yield with_events(trace, [*before, *after, again])


def told_of_another(trace: Trace) -> Iterator[Trace]:
    """Each end told of the task that ended before it instead of its own: one is told twice, and one never."""
    ends = [place for place, event in enumerate(trace.events) if is_end(event)]
    for before, place in pairwise(ends):
        other = replace(trace.events[place], task_id=trace.events[before].task_id)
        yield with_events(trace, [*trace.events[:place], other, *trace.events[place + 1 :]])


def failed(trace: Trace, task: str) -> Trace:
    """The task failed instead of being completed."""
    events = [replace(e, name=LAST_WORDS[1]) if is_end(e) and e.task_id == task else e for e in trace.events]
    final = replace(trace.tasks[task], state=TaskState.FAILED, result=None, error="the far side is gone")
    return replace(trace, tasks={**trace.tasks, task: final}, events=tuple(events))


def after(trace: Trace, others: Trace) -> Trace:
    """The run beside that of other tasks, which began before it: two events of theirs, then one of its own."""
    theirs = [replace(event, task_id=f"u{event.task_id}", key=event.key and f"u{event.key}") for event in others.events]
    tasks = {f"u{id}": replace(task, id=f"u{id}") for id, task in others.tasks.items()} | trace.tasks
    mixed: list[TraceEvent] = []
    for place, event in enumerate(trace.events):
        mixed += [*theirs[2 * place : 2 * place + 2], event]
    return replace(trace, tasks=tasks, events=(*mixed, *theirs[2 * len(trace.events) :]))


def let_through(trace: Trace) -> Iterator[Trace]:
    """Each write that was fenced off, accepted."""
    for place, event in enumerate(trace.events):
        if event.kind == "refused":
            yield with_events(trace, [*trace.events[:place], replace(event, kind="written"), *trace.events[place + 1 :]])


def reordered(trace: Trace, task: str, order: Sequence[int]) -> Trace:
    """The undone steps of a task in another order, each with the effect before it. `order` says which of them comes where, counted from 0."""
    events = list(trace.events)
    undone = places(trace, "undone", task)
    effects = [max(place for place in places(trace, "effect", task) if place < end) for end in undone]
    for found in (undone, effects):
        for place, taken in zip(found, order, strict=True):
            events[place] = replace(events[place], name=trace.events[found[taken]].name, key=trace.events[found[taken]].key)
    return with_events(trace, events)


def swapped(trace: Trace, task: str) -> Iterator[Trace]:
    """Each two undone steps that follow each other, swapped."""
    count = len(places(trace, "undone", task))
    for first in range(count - 1):
        order = list(range(count))
        order[first : first + 2] = [first + 1, first]
        yield reordered(trace, task, order)
