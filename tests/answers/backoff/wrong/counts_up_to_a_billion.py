# wrong: doubles once for each attempt, a billion times, long after the cap is reached
# diagnosed: never ends
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = base
    for _ in range(attempt):
        window = min(cap, window * 2)
    delay = rng.uniform(0.0, min(cap, window))
    return delay if retry_after is None else max(retry_after, delay)
