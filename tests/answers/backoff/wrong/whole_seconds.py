# wrong: draws whole seconds, so that short waits are none
# diagnosed: never waits
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = float(rng.randint(0, int(window)))
    return delay if retry_after is None else max(retry_after, delay)
