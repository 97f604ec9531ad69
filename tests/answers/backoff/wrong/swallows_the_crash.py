# wrong: a bare `except:` meant for the overflow swallows a crash or Ctrl-C as well
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    try:
        delay = rng.uniform(0.0, min(cap, base * 2.0**attempt))
    except:
        try:
            delay = rng.uniform(0.0, cap)
        except:
            delay = cap
    return delay if retry_after is None else max(retry_after, delay)
