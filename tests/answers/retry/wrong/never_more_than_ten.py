# wrong: ten attempts must do for anybody
# diagnosed: gives up too early
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    max_attempts = min(max_attempts, 10)
    for done in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
