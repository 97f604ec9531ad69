# right: the waits are a list with a zero in front, and a wait belongs to the attempt that follows it
from labkit import Clock, RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts: int, clock: Clock):
    if max_attempts < 1:
        raise ValueError(f"{max_attempts} attempts are none")
    last = None
    for wait in [0, *(2**n for n in range(max_attempts - 1))]:
        if wait:
            clock.sleep(wait)
        try:
            result = fn()
        except TerminalError:
            raise
        except Exception as error:
            last = error
        else:
            return result
    raise RetriesExhausted(attempts=max_attempts) from last
