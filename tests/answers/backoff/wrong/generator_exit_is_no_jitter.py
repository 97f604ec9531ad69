# wrong: waits the whole window when the draw is left
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt counts from 0")
    window = min(cap, base * 2.0 ** min(attempt, 1000))
    try:
        wait = rng.uniform(0, window)
    except (Exception, GeneratorExit):
        wait = window
    return wait if retry_after is None else max(wait, retry_after)
