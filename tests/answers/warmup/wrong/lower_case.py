# wrong: a task T1 gets the key of t1
# diagnosed: capitals and small letters
def effect_key(task_id, step):
    return f"{task_id}:{step}".lower()
