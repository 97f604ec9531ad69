# wrong: changes the message of a terminal error
# diagnosed: a terminal error does not come out as it is
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be 1 or more")
    for done in range(max_attempts):
        try:
            return fn()
        except TerminalError as error:
            error.args = (f"no use, said attempt {done + 1}",)
            raise
        except Exception as error:
            failed = error
        if done + 1 < max_attempts:
            clock.sleep(2**done)
    raise RetriesExhausted(attempts=max_attempts) from failed
