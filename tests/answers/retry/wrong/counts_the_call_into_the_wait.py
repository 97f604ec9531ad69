# wrong: the time that a call took is taken off the wait after it
# diagnosed: the time that a call takes changes the wait after it
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        began = clock.monotonic()
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(max(0, 2**attempt - (clock.monotonic() - began)))
