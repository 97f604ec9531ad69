# right: match statements over the kinds; everything is collected, the first sentence counts
from collections import defaultdict

from labkit import Task, TaskState, TraceEvent


def invariant(trace) -> "str | None":
    holders, seen, done, undone, ends = {}, set(), defaultdict(list), defaultdict(list), defaultdict(list)
    wrong = []
    for event in trace.events:
        match event:
            case TraceEvent(kind="submitted", task_id=task):
                ends[task]
            case TraceEvent(kind="claimed", task_id=task, worker=worker, attempt=attempt):
                holders[task] = worker, attempt
            case TraceEvent("written", task, worker, attempt) if holders.get(task) not in (None, (worker, attempt)):
                wrong.append(f"{worker} wrote {task} though {holders[task][0]} has it")
            case TraceEvent(kind="effect", task_id=task, name=name):
                if (task, name) in seen:
                    wrong.append(f"{name} again for {task}")
                seen.add((task, name))
            case TraceEvent(kind="done", task_id=task, name=name):
                done[task].append(name)
            case TraceEvent(kind="undone", task_id=task, name=name):
                undone[task].append(name)
            case TraceEvent(kind="progress", task_id=task, name=("completed" | "error") as end):
                ends[task].append(end)
    for task, names in undone.items():
        if names != [name for name in reversed(done[task]) if name in names]:
            wrong.append(f"{task} undid {names}")
    for task, told in ends.items():
        match trace.tasks.get(task), told:
            case None, _:
                wrong.append(f"{task} is gone")
            case Task(state=TaskState.PENDING | TaskState.RUNNING | TaskState.WAITING), _:
                wrong.append(f"{task} never ended")
            case _, [_]:
                pass
            case _, []:
                wrong.append(f"{task} ended in silence")
            case _:
                wrong.append(f"{task} ended as {told}")
    return wrong[0] if wrong else None
