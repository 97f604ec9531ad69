# wrong: `return` in a `finally` swallows a crash or Ctrl-C
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    delay = window
    try:
        delay = rng.uniform(0.0, window)
    finally:
        return delay if retry_after is None else max(retry_after, delay)
