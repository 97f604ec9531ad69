# wrong: the step alone is the key
# diagnosed: the key leaves out the task or the step
def effect_key(task_id, step):
    return step
