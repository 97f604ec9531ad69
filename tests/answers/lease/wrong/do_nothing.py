# wrong: claims nothing, completes nothing
# diagnosed: does nothing
def claim(engine, worker_id, now, lease_seconds):
    return None


def heartbeat(engine, lease, now, lease_seconds):
    return lease


def complete(engine, lease, result, now):
    return None
