# wrong: the whole wait, and up to a second on top
# diagnosed: the jitter comes on top of the whole wait
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError(attempt)
    wait = min(cap, base * 2.0 ** min(attempt, 1000))
    return max(retry_after or 0.0, wait + rng.uniform(0, 1))
