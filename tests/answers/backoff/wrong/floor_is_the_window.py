# wrong: draws from [0, retry_after]
# diagnosed: comes back sooner than the other side asked for
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else rng.uniform(0.0, max(window, retry_after))
