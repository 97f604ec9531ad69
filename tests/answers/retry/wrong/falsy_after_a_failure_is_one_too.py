# wrong: once something has failed only a truthy result counts
# diagnosed: takes a falsy result for a failure
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    failed = None
    for done in range(max_attempts):
        try:
            result = fn()
            if result or failed is None:
                return result
        except TerminalError:
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
