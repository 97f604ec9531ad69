# wrong: knows the waits of the example, and no more than four attempts
# diagnosed: gives up too early: an attempt too few, or a fixed number of them
from labkit import RetriesExhausted, TerminalError

WAITS = [1, 2, 4]


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(min(max_attempts, 4)):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            last = error
            if attempt < min(max_attempts, 4) - 1:
                clock.sleep(WAITS[attempt])
    raise RetriesExhausted(attempts=max_attempts) from last
