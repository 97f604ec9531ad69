# wrong: a bare `except:` is an `except BaseException`
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    attempt = 0
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except:
            attempt += 1
            if attempt == max_attempts:
                import sys
                raise RetriesExhausted(attempts=attempt) from sys.exc_info()[1]
            clock.sleep(2 ** (attempt - 1))
