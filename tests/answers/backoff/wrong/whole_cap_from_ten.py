# wrong: from the tenth failure on the window is the cap
# diagnosed: waits longer than base * 2**attempt
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = cap if attempt > 9 else min(cap, base * 2**attempt)
    wait = rng.uniform(0, window)
    return wait if retry_after is None else max(wait, retry_after)
