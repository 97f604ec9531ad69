# wrong: takes errors of the program for hopeless
# diagnosed: retries only some kinds of errors
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except (RuntimeError, TypeError, AttributeError, NameError):
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
