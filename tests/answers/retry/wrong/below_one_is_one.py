# wrong: takes every number below 1 for 1
# diagnosed: max_attempts below 1 is not refused
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    max_attempts = max(1, max_attempts)
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
