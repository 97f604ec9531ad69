# wrong: above a floor it draws up to the cap
# diagnosed: waits longer than the floor and the window together
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    if retry_after is not None:
        return max(retry_after, rng.uniform(0, cap))
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    return rng.uniform(0, window)
