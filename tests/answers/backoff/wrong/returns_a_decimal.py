# wrong: the wait is a Decimal, which no sleep takes beside a float
# diagnosed: returns a Decimal, no float
from decimal import Decimal


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempts count from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    draw = rng.uniform(0, window)
    return Decimal(draw) if retry_after is None else max(retry_after, draw)
