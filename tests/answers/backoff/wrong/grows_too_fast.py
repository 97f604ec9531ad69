# wrong: counts the attempt from one: twice the window
# diagnosed: waits longer than base * 2**attempt
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt + 1, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
