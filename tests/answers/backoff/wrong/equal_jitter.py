# wrong: half of the wait is fixed
# diagnosed: equal jitter: only a part of the wait is drawn
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = window / 2 + rng.uniform(0.0, window / 2)
    return delay if retry_after is None else max(retry_after, delay)
