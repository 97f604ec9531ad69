# right: each attempt is a `with` block that keeps an ordinary error and lets every other out
from labkit import RetriesExhausted, TerminalError


class Attempt:
    error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None or not issubclass(kind, Exception) or issubclass(kind, TerminalError):
            return False
        self.error = error
        return True


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts")
    wait = 1
    for number in range(1, max_attempts + 1):
        with Attempt() as attempt:
            return fn()
        if number < max_attempts:
            clock.sleep(wait)
            wait += wait
    raise RetriesExhausted(attempts=max_attempts) from attempt.error
