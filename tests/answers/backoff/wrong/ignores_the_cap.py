# wrong: the window grows without end
# diagnosed: the cap is ignored
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = base * 2.0 ** min(attempt, 1000)
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
