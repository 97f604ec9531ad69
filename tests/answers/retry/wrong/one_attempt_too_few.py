# wrong: the last attempt is never made
# diagnosed: never tries again
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max(1, max_attempts - 1)):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt == max(1, max_attempts - 1) - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
