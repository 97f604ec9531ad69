# wrong: draws from the module's generator where a floor is given
# diagnosed: draws from a generator of its own, not from rng
import random


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    if retry_after is not None:
        return retry_after + random.uniform(0, window)
    return rng.uniform(0, window)
