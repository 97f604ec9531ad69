# wrong: the count lives in the module, so the second use goes on where the first one stopped
# diagnosed: keeps a count or a wait from one use to the next
from labkit import RetriesExhausted, TerminalError

failures = 0


def execute_with_retry(fn, max_attempts, clock):
    global failures
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            failures += 1
            if failures >= max_attempts:
                raise RetriesExhausted(attempts=failures) from error
            clock.sleep(2 ** (failures - 1))
