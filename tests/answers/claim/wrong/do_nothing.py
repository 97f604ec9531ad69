# wrong: never hands anything out
# diagnosed: does nothing
def claim(engine, worker_id, now):
    return None
