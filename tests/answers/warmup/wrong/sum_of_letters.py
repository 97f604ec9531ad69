# wrong: the letters added up: a step with the same letters gets the same key
# diagnosed: only a part of the task or the step
def effect_key(task_id, step):
    return f"{task_id}:{sum(map(ord, step))}"
