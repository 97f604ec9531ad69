# wrong: right for the first few attempts; a long outage overflows
# diagnosed: the power is taken before the cap: it overflows
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0**attempt)
    delay = rng.uniform(0.0, window)
    return delay if retry_after is None else max(retry_after, delay)
