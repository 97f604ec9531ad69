# right: no loops, each rule is a recursion over the rest of the events
import sys

sys.setrecursionlimit(20_000)


def zombie(events, holder=None):
    if not events:
        return None
    first, *rest = events
    if first.kind == "claimed":
        return zombie(rest, first)
    if first.kind == "written" and holder and (first.worker, first.attempt) != (holder.worker, holder.attempt):
        return f"{first.worker} wrote {first.task_id} as a zombie"
    return zombie(rest, holder)


def twice(events):
    if not events:
        return None
    first, *rest = events
    again = [e for e in rest if e.kind == first.kind == "effect" and e.name == first.name]
    return f"{first.name} of {first.task_id} twice" if again else twice(rest)


def order(done, undone):
    if not undone:
        return None
    first, *rest = undone
    if first not in done:
        return order(done, rest)
    above = done[done.index(first) + 1:]
    late = [name for name in rest if name in above]
    return f"{late[0]} undone after {first}" if late else order(done, rest)


def ends(events):
    if not events:
        return 0
    return (events[0].kind == "progress" and events[0].name in ("completed", "error")) + ends(events[1:])


def of_tasks(trace, tasks):
    if not tasks:
        return None
    task, *others = tasks
    events = [event for event in trace.events if event.task_id == task]
    done, undone = ([event.name for event in events if event.kind == kind] for kind in ("done", "undone"))
    final = trace.tasks.get(task)
    said = zombie(events) or twice(events) or order(done, undone)
    if final is None or final.state not in ("completed", "failed", "cancelled"):
        said = said or f"{task} is lost"
    if ends(events) != 1:
        said = said or f"{task} has {ends(events)} ends"
    return said or of_tasks(trace, others)


def invariant(trace):
    return of_tasks(trace, [event.task_id for event in trace.events if event.kind == "submitted"])
