# wrong: a group of errors is taken for terminal because one in it is
# diagnosed: takes an error for terminal that only holds one
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if isinstance(error, ExceptionGroup) and error.subgroup(TerminalError):
                raise
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
