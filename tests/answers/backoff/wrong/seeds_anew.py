# wrong: sets the seed of rng anew each time
# diagnosed: the same wait each time: the draw is not from rng
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    rng.seed(attempt)
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
