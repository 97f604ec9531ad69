# wrong: ten per cent of jitter around the doubled wait
# diagnosed: equal jitter: only a part of the wait is drawn
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = min(window, window * rng.uniform(0.9, 1.1))
    return delay if retry_after is None else max(retry_after, delay)
