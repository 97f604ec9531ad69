# wrong: the chapter's wait, which only doubles: no jitter, no cap, no floor
# diagnosed: no jitter: all who failed together come back together
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    return base * (1 << attempt)
