# wrong: a counter that begins anew with each process
# diagnosed: the key leaves out the task or the step
from itertools import count

numbers = count(1)


def effect_key(task_id, step):
    return f"key-{next(numbers)}"
