# wrong: keeps the count as an attribute of the function
# diagnosed: keeps a count or a wait from one use to the next
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            fn.tried = getattr(fn, "tried", 0) + 1
            if fn.tried >= max_attempts:
                raise RetriesExhausted(attempts=fn.tried) from error
        clock.sleep(2 ** (fn.tried - 1))
