# wrong: does nothing
# diagnosed: does nothing
def resume_task(store, task_id, work):
    return None
