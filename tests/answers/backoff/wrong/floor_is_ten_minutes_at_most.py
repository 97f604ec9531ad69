# wrong: who asks for more than ten minutes is heard for ten minutes
# diagnosed: retry_after has a cap of its own
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempts count from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    draw = rng.uniform(0, window)
    return draw if retry_after is None else max(min(retry_after, 600.0), draw)
