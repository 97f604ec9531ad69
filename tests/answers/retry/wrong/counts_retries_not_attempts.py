# wrong: takes max_attempts for the number of retries: one call too many
# diagnosed: more attempts than allowed: counts retries, or has no end
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts + 1):
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
