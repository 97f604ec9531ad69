# wrong: keeps results by function and never calls it again
# diagnosed: keeps a count or a wait from one use to the next
from labkit import RetriesExhausted, TerminalError

results = {}


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    if fn in results:
        return results[fn]
    for done in range(max_attempts):
        try:
            results[fn] = fn()
            return results[fn]
        except TerminalError:
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
