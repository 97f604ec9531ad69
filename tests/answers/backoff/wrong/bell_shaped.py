# wrong: the mean of two draws: most tasks come back in the middle
# diagnosed: the waits are not drawn evenly
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = (rng.uniform(0.0, window) + rng.uniform(0.0, window)) / 2
    return delay if retry_after is None else max(retry_after, delay)
