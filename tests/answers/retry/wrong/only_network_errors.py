# wrong: tries again only after what looks like the network
# diagnosed: retries only some kinds of errors
from labkit import RetriesExhausted, TerminalError, TransientError


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except (TransientError, TimeoutError, OSError) as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
