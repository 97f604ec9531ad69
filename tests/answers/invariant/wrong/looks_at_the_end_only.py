# wrong: what most tests do: looks at the final tasks and at nothing that led there
# diagnosed: does not see an effect that happened twice
def invariant(trace):
    """Everything that was submitted is over."""
    for event in trace.events:
        if event.kind == "submitted" and (event.task_id not in trace.tasks or trace.tasks[event.task_id].state in ("pending", "running")):
            return f"{event.task_id} is lost"
    return None
