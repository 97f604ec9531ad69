# wrong: base and cap are those of the example
# diagnosed: waits longer than base * 2**attempt
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    delay = rng.uniform(0.0, min(60.0, 2.0 ** min(attempt, 1000)))
    return delay if retry_after is None else max(retry_after, delay)
