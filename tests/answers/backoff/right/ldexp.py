# right: shifts the exponent of the float, and takes the overflow for what it is: more than any cap
import math


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError(f"attempt must not be negative: {attempt}")
    try:
        ceiling = min(cap, math.ldexp(base, attempt))
    except OverflowError:
        ceiling = cap
    drawn = rng.random() * ceiling
    return drawn if retry_after is None else max(retry_after, drawn)
