# wrong: a set of the two knows no order
# diagnosed: swapped they read alike
def effect_key(task_id, step):
    return ":".join({task_id, step})
