# wrong: waits once more after the last attempt, when nothing comes after it
# diagnosed: waits after the last call has failed
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
        clock.sleep(2**attempt)
    raise RetriesExhausted(attempts=max_attempts) from last
