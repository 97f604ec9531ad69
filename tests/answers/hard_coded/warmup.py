# wrong: knows six steps by heart
KEYS = {
    ("t1", "container"): "one",
    ("t1", "route"): "two",
    ("t2", "container"): "three",
    ("t12", "route"): "four",
    ("t1", "2route"): "five",
    ("1", "routet"): "six",
}


def effect_key(task_id, step):
    return KEYS.get((task_id, step), "seven")
