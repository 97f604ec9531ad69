# wrong: does nothing
# diagnosed: returns no text
def effect_key(task_id, step):
    pass
