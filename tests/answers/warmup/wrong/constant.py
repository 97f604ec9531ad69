# wrong: one key for everything
# diagnosed: the key leaves out the task or the step
def effect_key(task_id, step):
    return "key"
