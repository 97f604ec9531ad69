# right: both in one text
def effect_key(task_id, step):
    return f"{task_id}:{step}"
