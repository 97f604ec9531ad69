# wrong: attempt=-1 halves the window
# diagnosed: a negative attempt is not refused
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
