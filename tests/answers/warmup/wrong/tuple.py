# wrong: a tuple is no text
# diagnosed: returns no text
def effect_key(task_id, step):
    return (task_id, step)
