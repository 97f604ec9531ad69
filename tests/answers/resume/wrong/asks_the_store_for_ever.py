# wrong: waits for a task that nobody ends
# diagnosed: never ends
def resume_task(store, task_id, work):
    while store.get(task_id):
        pass
