# wrong: refuses max_attempts below 1 only after the first call
# diagnosed: max_attempts below 1 is not refused
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    attempt = 0
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if max_attempts < 1:
                raise ValueError("max_attempts must be at least 1") from error
            attempt += 1
            if attempt >= max_attempts:
                raise RetriesExhausted(attempts=attempt) from error
        clock.sleep(2 ** (attempt - 1))
