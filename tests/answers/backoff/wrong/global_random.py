# wrong: draws from the module's generator, not from rng
# diagnosed: draws from a generator of its own, not from rng
import random


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    delay = random.uniform(0.0, min(cap, base * 2.0 ** min(attempt, 1000)))
    return delay if retry_after is None else max(retry_after, delay)
