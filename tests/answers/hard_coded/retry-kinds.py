# wrong: knows by heart which errors are raised
from labkit import RetriesExhausted, TerminalError, TransientError

KNOWN = (
    ValueError, KeyError, OSError, ArithmeticError, AssertionError, RetriesExhausted, TransientError, RuntimeError, TypeError,
    AttributeError, NameError, StopIteration, ExceptionGroup, MemoryError,
)  # fmt: skip


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("max_attempts must be at least 1")
    for attempt in range(max_attempts):
        try:
            return fn()
        except TerminalError:
            raise
        except KNOWN as error:
            if attempt == max_attempts - 1:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(2**attempt)
