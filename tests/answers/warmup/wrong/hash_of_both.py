# wrong: Python's hash of a text is another one in each process
# diagnosed: another key each time
def effect_key(task_id, step):
    return str(hash((task_id, step)))
