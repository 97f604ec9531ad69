# wrong: the cap is applied last, and takes the floor away
# diagnosed: the cap beats retry_after
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else min(cap, max(retry_after, delay))
