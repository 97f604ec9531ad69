# wrong: knows the bases by heart
BASES = (0.001, 0.25, 0.5, 1.0, 2.0, 3.0)


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    if base not in BASES:
        base = 1.0
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    return (retry_after or 0.0) + rng.uniform(0.0, window)
