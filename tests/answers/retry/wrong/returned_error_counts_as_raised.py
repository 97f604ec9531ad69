# wrong: tells a result from an error by its type
# diagnosed: takes a returned error for a failure
from labkit import RetriesExhausted, TerminalError


def ended(fn):
    try:
        return fn()
    except Exception as error:
        return error


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts):
        came = ended(fn)
        if isinstance(came, TerminalError):
            raise came
        if not isinstance(came, Exception):
            return came
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from came
