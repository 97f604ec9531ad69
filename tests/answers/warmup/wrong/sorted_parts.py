# wrong: the two sorted: the task route and its step t1 get the key of t1 and its step route
# diagnosed: swapped they read alike
def effect_key(task_id, step):
    return ":".join(sorted((task_id, step)))
