# wrong: the wait stops growing at five minutes
# diagnosed: the waits stop doubling
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(min(2**done, 300))
    raise RetriesExhausted(attempts=max_attempts) from failed
