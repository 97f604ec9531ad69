# wrong: no wait is longer than half an hour, though nobody asked for a cap
# diagnosed: the waits do not double
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(min(2**attempt, 1800))
