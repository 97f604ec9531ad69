# wrong: seeds the caller's generator anew after each draw
# diagnosed: the same few waits again and again
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    wait = rng.uniform(0, window)
    rng.seed(rng.getrandbits(8))
    return wait if retry_after is None else max(wait, retry_after)
