# wrong: the wait is in a `finally`, so it is waited after a success, after a terminal error and after the last attempt too
# diagnosed: waits after the last call has succeeded
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
            last = error
        finally:
            clock.sleep(2**attempt)
    raise RetriesExhausted(attempts=max_attempts) from last
