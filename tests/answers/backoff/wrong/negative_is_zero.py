# wrong: takes a negative attempt for the first
# diagnosed: a negative attempt is not refused
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        attempt = 0
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
