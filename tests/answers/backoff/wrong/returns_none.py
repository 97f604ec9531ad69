# wrong: returns nothing
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    return None
