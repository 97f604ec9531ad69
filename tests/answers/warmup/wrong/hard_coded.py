# wrong: knows the tasks of the example
# diagnosed: returns no text
def effect_key(task_id, step):
    return {("t1", "container"): "a", ("t1", "route"): "b"}.get((task_id, step))
