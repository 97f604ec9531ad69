# wrong: the exponent is clamped at 30, where the cap may be farther away
# diagnosed: waits less than base * 2**attempt allows
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempts count from 0")
    window = min(cap, base * 2.0 ** min(attempt, 30))
    draw = rng.uniform(0, window)
    return draw if retry_after is None else max(retry_after, draw)
