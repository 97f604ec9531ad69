# wrong: one key for all steps of a task
# diagnosed: the key leaves out the task or the step
def effect_key(task_id, step):
    return f"key of {task_id}"
