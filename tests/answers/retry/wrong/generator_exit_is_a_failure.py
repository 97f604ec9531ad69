# wrong: counts GeneratorExit among the failures
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except (Exception, GeneratorExit) as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
