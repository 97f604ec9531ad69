# right: functools.reduce over the events, the state is a tuple of frozen things
from functools import reduce
from types import MappingProxyType

NOTHING = MappingProxyType({})


def put(mapping, key, value):
    return MappingProxyType({**mapping, key: value})


def step(state, event):
    holder, effects, done, lowest, ends, said = state
    if said:
        return state
    task, kind = event.task_id, event.kind
    if kind == "submitted":
        ends = put(ends, task, 0)
    elif kind == "claimed":
        holder = put(holder, task, (event.worker, event.attempt))
    elif kind == "written" and holder.get(task, (event.worker, event.attempt)) != (event.worker, event.attempt):
        said = f"zombie {event.worker} in {task}"
    elif kind == "effect":
        said = f"{event.name} doubled in {task}" if (task, event.name) in effects else ""
        effects = effects | {(task, event.name)}
    elif kind == "done":
        done = put(done, (task, event.name), len(done))
    elif kind == "undone" and (task, event.name) in done:
        place = done[task, event.name]
        said = f"{event.name} undone too late in {task}" if place > lowest.get(task, place) else ""
        lowest = put(lowest, task, place)
    elif kind == "progress" and event.name in ("completed", "error"):
        ends = put(ends, task, ends.get(task, 0) + 1)
    return holder, effects, done, lowest, ends, said


def invariant(trace):
    *_, ends, said = reduce(step, trace.events, (NOTHING, frozenset(), NOTHING, NOTHING, NOTHING, ""))
    for task, count in ends.items():
        if count != 1:
            said = said or f"{task} ended {count} times"
        if task not in trace.tasks or trace.tasks[task].state in ("pending", "running", "waiting"):
            said = said or f"{task} is lost"
    return said or None
