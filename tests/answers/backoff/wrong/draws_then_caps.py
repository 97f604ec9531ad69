# wrong: the draw is capped, not the window: most tasks wait for exactly the cap
# diagnosed: the draw is capped, not the window: many wait for exactly the cap
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = base * 2.0 ** min(attempt, 1000)
    delay = min(cap, rng.uniform(0.0, window))
    return delay if retry_after is None else max(retry_after, delay)
