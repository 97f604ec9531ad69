# wrong: draws from a copy, so rng never moves on and each draw is the same
# diagnosed: the same wait each time: the draw is not from rng
import copy


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    delay = copy.copy(rng).uniform(0.0, min(cap, base * 2.0 ** min(attempt, 1000)))
    return delay if retry_after is None else max(retry_after, delay)
