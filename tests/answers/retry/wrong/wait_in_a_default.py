# wrong: the wait is kept in a mutable default and grows from one use to the next
# diagnosed: keeps a count or a wait from one use to the next
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock, waits=[1]):
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
        clock.sleep(waits[-1])
        waits.append(waits[-1] * 2)
