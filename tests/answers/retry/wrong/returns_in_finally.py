# wrong: `return` in a `finally` swallows whatever was on its way, a crash and a terminal error too
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
from labkit import RetriesExhausted, TerminalError


def one(fn):
    error = value = None
    worked = False
    try:
        value = fn()
        worked = True
    except Exception as caught:
        error = caught
    finally:
        return worked, value, error


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        worked, value, error = one(fn)
        if worked:
            return value
        if isinstance(error, TerminalError):
            raise error
        if attempt < max_attempts - 1:
            clock.sleep(2**attempt)
    raise RetriesExhausted(attempts=max_attempts) from error
