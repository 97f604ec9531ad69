# wrong: returns nothing
# diagnosed: returns no finite number
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    return None
