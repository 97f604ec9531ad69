# wrong: the last attempt stands apart, and catches everything
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts - 1):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception:
            clock.sleep(2**done)
    try:
        return fn()
    except TerminalError:
        raise
    except BaseException as error:
        raise RetriesExhausted(attempts=max_attempts) from error
