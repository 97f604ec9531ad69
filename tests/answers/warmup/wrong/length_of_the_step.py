# wrong: two steps of one length get one key
# diagnosed: only a part of the task or the step
def effect_key(task_id, step):
    return f"{task_id}:{len(step)}"
