# wrong: a cap of zero is falsy, and taken for no cap
# diagnosed: a cap of zero is taken for no cap
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempts count from 0")
    window = min(cap or 1e9, base * 2.0 ** min(attempt, 1000))
    draw = rng.uniform(0, window)
    return draw if retry_after is None else max(retry_after, draw)
