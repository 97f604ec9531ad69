# wrong: waits for a task that nobody ends
# diagnosed: never ends
def execute_task_if_not_done(store, task_id, work):
    while store.get(task_id):
        pass
