# wrong: a lost answer is taken for the end
# diagnosed: gives up before a result comes
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("at least one attempt")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if str(error) == "no answer":
                raise
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
            clock.sleep(2**attempt)
