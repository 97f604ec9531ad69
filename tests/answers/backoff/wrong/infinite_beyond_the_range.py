# wrong: waits for ever when the power is too large
# diagnosed: returns no finite number
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    if attempt > 1023:
        return float('inf')
    window = min(cap, base * 2.0**attempt)
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
