# wrong: a group of interrupts is no Exception, and it is tried again
# diagnosed: catches BaseException
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except (Exception, BaseExceptionGroup) as error:
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
