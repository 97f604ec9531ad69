# wrong: never waits less than base
# diagnosed: no jitter: all who failed together come back together
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(min(base, window), window)
    return delay if retry_after is None else max(retry_after, delay)
