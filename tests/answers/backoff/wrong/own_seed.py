# wrong: a generator of its own with a fixed seed: every task draws the same waits
# diagnosed: draws from a generator of its own, not from rng
import random

OWN = random.Random(42)


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    delay = OWN.uniform(0.0, min(cap, base * 2.0 ** min(attempt, 1000)))
    return delay if retry_after is None else max(retry_after, delay)
