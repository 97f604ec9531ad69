# wrong: looks for the names of the runs that it has seen
# diagnosed: a false alarm when nothing went wrong
def invariant(trace):
    """What the examples show."""
    events = [(e.kind, e.worker, e.name) for e in trace.events]
    if events.count(("effect", "w1", "charge")) > 1:
        return "charged twice"
    if [kind for kind, worker, _ in events if worker == "w1"][-1:] == ["written"]:
        return "a zombie, or nobody was told"
    if ("undone", "w1", "certificate") in events and events.index(("undone", "w1", "certificate")) < len(events) - 3:
        return "the certificate went too early"
    if any(task.state == "running" for task in trace.tasks.values()):
        return "lost"
    return "told twice" if events.count(("progress", "w2", "completed")) > 1 else None
