# wrong: an exit while it waits only ends the wait
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
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            try:
                clock.sleep(2**done)
            except (SystemExit, GeneratorExit):
                pass
    raise RetriesExhausted(attempts=max_attempts) from failed
