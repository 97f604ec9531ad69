# wrong: counts the ends of all tasks together, so that one too many makes up for one that is missing
# diagnosed: counts the ends of all tasks together
from collections import Counter

OVER = ("completed", "failed", "cancelled")


def tasks_of(trace):
    return [event.task_id for event in trace.events if event.kind == "submitted"]


def lost(trace):
    for task in tasks_of(trace):
        final = trace.tasks.get(task)
        if final is None or final.state not in OVER:
            return f"{task} is lost"


def doubled(trace):
    effects = Counter((e.task_id, e.name) for e in trace.events if e.kind == "effect")
    for (task, name), count in effects.items():
        if count > 1:
            return f"{name} happened {count} times for {task}"


def zombie(trace):
    holder = {}
    for event in trace.events:
        who = (event.worker, event.attempt)
        if event.kind == "claimed":
            holder[event.task_id] = who
        if event.kind == "written" and holder.get(event.task_id, who) != who:
            return f"{event.worker} wrote {event.task_id}, which it does not hold"


def disorder(trace):
    for task in tasks_of(trace):
        done = [e.name for e in trace.events if e.kind == "done" and e.task_id == task]
        undone = [e.name for e in trace.events if e.kind == "undone" and e.task_id == task]
        places = [done.index(name) for name in undone if name in done]
        if any(first < second for first, second in zip(places, places[1:])):
            return f"{task} was undone in the wrong order"


def ends(trace):
    told = sum(e.kind == 'progress' and e.name in ('completed', 'error') for e in trace.events)
    return 'ends' if told != len(tasks_of(trace)) else None


def unused(trace):
    for task in tasks_of(trace):
        told = [e.name for e in trace.events if e.kind == "progress" and e.task_id == task]
        count = sum(name in ("completed", "error") for name in told)
        if count != 1:
            return f"the end of {task} was told {count} times"


def invariant(trace):
    for rule in (lost, doubled, zombie, disorder, ends):
        said = rule(trace)
        if said:
            return said
    return None
