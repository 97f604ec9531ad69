# wrong: tries again, but has no end for the case that every attempt fails, and returns None
# diagnosed: returns as if nothing were wrong when every attempt failed
from labkit import TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception:
            if attempt < max_attempts - 1:
                clock.sleep(2**attempt)
    return None
