# wrong: the two joined without anything between: t1 + 2route is t12 + route
# diagnosed: nothing stands between the task and the step
def effect_key(task_id, step):
    return task_id + step
