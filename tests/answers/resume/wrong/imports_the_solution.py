# wrong: asks importlib for the library's own solution
# diagnosed: imports the solution
import importlib


def resume_task(store, task_id, work):
    return importlib.import_module("labkit." + "execution").resume_task(store, task_id, work)
