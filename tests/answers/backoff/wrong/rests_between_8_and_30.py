# wrong: the window does not grow for a while
# diagnosed: waits less than base * 2**attempt allows
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    power = attempt if attempt < 8 or attempt > 29 else 8
    wait = rng.uniform(0, min(cap, base * 2.0 ** min(power, 1000)))
    return wait if retry_after is None else max(wait, retry_after)
