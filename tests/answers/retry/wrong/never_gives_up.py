# wrong: tries for ever
# diagnosed: more attempts than allowed: counts retries, or has no end
from labkit import TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    wait = 1
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except Exception:
            clock.sleep(wait)
            wait = min(wait * 2, 4096)
