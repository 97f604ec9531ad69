# wrong: beyond the range of floats there is no jitter any more
# diagnosed: no jitter: all who failed together come back together
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    try:
        window = min(cap, base * 2.0**attempt)
    except OverflowError:
        return cap
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
