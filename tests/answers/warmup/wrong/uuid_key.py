# wrong: a new key for every call
# diagnosed: another key each time
import uuid


def effect_key(task_id, step):
    return str(uuid.uuid4())
