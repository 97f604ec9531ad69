# wrong: wants each task claimed once, completed and told
# diagnosed: takes a task that is claimed again
def invariant(trace):
    """The run of a calm day."""
    for task in trace.tasks.values():
        kinds = [event.kind for event in trace.events if event.task_id == task.id]
        ends = [e.name for e in trace.events if e.task_id == task.id and e.kind == "progress" and e.name != "tool_call"]
        if task.state != "completed" or kinds.count("claimed") != 1 or ends != ["completed"]:
            return f"{task.id} did not go well"
    if any(event.task_id not in trace.tasks for event in trace.events):
        return "a task is gone"
    return None
