# wrong: waits at most a minute, which nobody asked for
# diagnosed: the waits stop doubling: a cap that nobody asked for
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
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(min(60, 2**attempt))
