# wrong: the two joined the other way round, again without anything between
# diagnosed: nothing stands between the task and the step
def effect_key(task_id, step):
    return "".join((step, task_id))
