# right: waits in pieces of a second, so that somebody could look in between; the sum is what counts
from labkit import RetriesExhausted, TerminalError


def _wait(clock, seconds):
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        clock.sleep(min(16.0, end - clock.monotonic()))


def execute_with_retry(fn, max_attempts, clock):
    if not max_attempts >= 1:
        raise ValueError("max_attempts must be at least 1")
    failures = 0
    while failures < max_attempts:
        try:
            return fn()
        except Exception as error:
            if isinstance(error, TerminalError):
                raise
            failures += 1
            if failures == max_attempts:
                raise RetriesExhausted(attempts=failures) from error
        _wait(clock, 2.0 ** (failures - 1))
