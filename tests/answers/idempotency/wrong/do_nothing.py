# wrong: does nothing
# diagnosed: does nothing
def execute_task_if_not_done(store, task_id, work):
    return None
