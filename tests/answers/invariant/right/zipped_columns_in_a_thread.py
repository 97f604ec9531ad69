# right: columns instead of objects, in a helper thread with a queue; the last rule is asked first
from itertools import groupby
from operator import attrgetter
from queue import SimpleQueue
from threading import Thread


def judge(trace):
    answer = None
    ordered = sorted(trace.events, key=attrgetter("task_id"))  # stable: each task keeps its order
    left = {e.task_id for e in trace.events if e.kind == "submitted"} - trace.tasks.keys()
    for task, mine in groupby(ordered, key=attrgetter("task_id")):
        kinds, workers, attempts, names = zip(*((e.kind, e.worker, e.attempt, e.name) for e in mine))
        where = lambda kind: [n for n, k in enumerate(kinds) if k == kind]
        last = [names[n] for n in where("progress") if names[n] in {"completed", "error"}]
        done = [names[n] for n in where("done")]
        back = [done.index(names[n]) for n in where("undone") if names[n] in done]
        effects = [names[n] for n in where("effect")]
        if len(last) != 1:
            answer = f"{task}: {len(last)} last words"
        elif back != sorted(back)[::-1]:
            answer = f"{task}: undone like {back}"
        elif sorted(set(effects)) != sorted(effects):
            answer = f"{task}: {effects}"
        for n in where("written"):
            claims = [c for c in where("claimed") if c < n]
            if claims and (workers[claims[-1]], attempts[claims[-1]]) != (workers[n], attempts[n]):
                answer = f"{task}: {workers[n]} came back from the dead"
    for task in trace.tasks.values():
        if not task.state in ("completed", "failed", "cancelled"):
            left |= {task.id}
    return f"{min(left)} is left behind" if left else answer


def invariant(trace):
    out = SimpleQueue()

    def work():
        try:
            out.put((judge(trace), None))
        except BaseException as error:
            out.put((None, error))

    thread = Thread(target=work)
    thread.start()
    said, error = out.get()
    thread.join()
    if error is not None:
        raise error
    return said
