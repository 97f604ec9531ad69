# wrong: KeyboardInterrupt and SystemExit go through, every other BaseException is tried again
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except (TerminalError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
