# wrong: knows the numbers of attempts by heart
from labkit import RetriesExhausted, TerminalError

KNOWN = (-4, -1, 0, 1, 2, 3, 4, 10, 13)


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts not in KNOWN:
        max_attempts = 4
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
