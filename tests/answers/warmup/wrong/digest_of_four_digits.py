# wrong: four digits of a digest: two of a few hundred keys are one
# diagnosed: a digest that is too short
from hashlib import sha256


def effect_key(task_id, step):
    return sha256(f"{task_id}:{step}".encode()).hexdigest()[:4]
