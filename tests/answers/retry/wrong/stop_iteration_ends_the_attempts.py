# wrong: takes the StopIteration of fn for that of its own iterator
# diagnosed: retries only some kinds of errors
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    numbers, failed = iter(range(max_attempts)), None
    while True:
        try:
            done = next(numbers)
            return fn()
        except StopIteration:
            raise RetriesExhausted(attempts=max_attempts) from failed
        except TerminalError:
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
