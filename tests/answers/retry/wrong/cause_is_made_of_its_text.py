# wrong: the cause is a new error with the text of the last one, which is lost with its type and its data
# diagnosed: the cause is not the last error, but one made of its text
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
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from Exception(str(error))
        clock.sleep(2**attempt)
