# wrong: waits before the first attempt too
# diagnosed: waits before the first attempt
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        clock.sleep(2**attempt)
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            last = error
    raise RetriesExhausted(attempts=max_attempts) from last
