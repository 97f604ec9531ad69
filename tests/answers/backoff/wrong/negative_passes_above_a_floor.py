# wrong: looks at the attempt only where no floor is given
# diagnosed: a negative attempt is not refused
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0 and retry_after is None:
        raise ValueError("attempt counts from 0")
    wait = rng.uniform(0, min(cap, base * 2.0 ** max(0, min(attempt, 1000))))
    return wait if retry_after is None else max(wait, retry_after)
