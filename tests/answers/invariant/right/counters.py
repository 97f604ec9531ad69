# right: Counters and comprehensions, no loop has a memory
from collections import Counter

from labkit import Trace, TraceEvent

OVER = {"completed", "failed", "cancelled"}


def invariant(trace: Trace) -> str | None:
    def of(*kinds: str) -> list[TraceEvent]:
        return [event for event in trace.events if event.kind in kinds]

    tasks = [event.task_id for event in of("submitted")]
    lost = [t for t in tasks if t not in trace.tasks or trace.tasks[t].state not in OVER]
    doubled = [pair for pair, n in Counter((e.task_id, e.name) for e in of("effect")).items() if n > 1]
    ends = Counter(e.task_id for e in of("progress") if e.name in ("completed", "error"))
    told = [t for t in tasks if ends[t] != 1]
    places = {(e.task_id, e.name): n for n, e in enumerate(of("done"))}
    undone = {t: [places[e.task_id, e.name] for e in of("undone") if e.task_id == t and (e.task_id, e.name) in places] for t in tasks}
    order = [t for t, way in undone.items() if any(a < b for a, b in zip(way, way[1:]))]
    newest = [
        (e, [c for c in trace.events[:n] if c.kind == "claimed" and c.task_id == e.task_id][-1:])
        for n, e in enumerate(trace.events)
        if e.kind == "written"
    ]
    zombies = [e.task_id for e, last in newest if last and (last[0].worker, last[0].attempt) != (e.worker, e.attempt)]
    if lost:
        return f"lost: {', '.join(lost)}"
    if doubled:
        return f"done twice: {doubled[0][1]} of {doubled[0][0]}"
    if zombies:
        return f"a zombie wrote {zombies[0]}"
    if order:
        return f"undone in the wrong order: {order[0]}"
    return f"the end of {told[0]} was told {ends[told[0]]} times" if told else None
