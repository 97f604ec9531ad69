# wrong: with retry_after everybody waits for exactly that long
# diagnosed: the jitter is lost where retry_after is given
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else retry_after
