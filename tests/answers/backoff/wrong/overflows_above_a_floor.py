# wrong: clamps the exponent only where no floor is given
# diagnosed: the power is taken before the cap: it overflows
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    if retry_after is not None:
        return max(retry_after, rng.uniform(0, min(cap, base * 2.0**attempt)))
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    return rng.uniform(0, window)
