# right: the exponent is clamped before the power, the floor is added
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    return (retry_after or 0.0) + rng.uniform(0.0, window)
