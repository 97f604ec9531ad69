# wrong: keeps the result, but does not leave the loop
# diagnosed: goes on after a success
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    worked, result, last = False, None, None
    for attempt in range(max_attempts):
        try:
            result = fn()
            worked = True
        except TerminalError:
            raise
        except Exception as error:
            last = error
            if attempt < max_attempts - 1:
                clock.sleep(2**attempt)
    if worked:
        return result
    raise RetriesExhausted(attempts=max_attempts) from last
