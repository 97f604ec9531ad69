# wrong: takes the overflow for no wait at all
# diagnosed: never waits
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    try:
        window = min(cap, base * 2.0**attempt)
    except OverflowError:
        window = 0.0
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
