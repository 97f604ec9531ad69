# wrong: the cause is the first error, not the last
# diagnosed: the cause is not the last error
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    errors = []
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            errors.append(error)
        if attempt < max_attempts - 1:
            clock.sleep(2**attempt)
    raise RetriesExhausted(attempts=len(errors)) from errors[0]
