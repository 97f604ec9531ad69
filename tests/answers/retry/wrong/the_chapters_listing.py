# wrong: the chapter's loop as it stands: it asks again after errors that will never work, and loses the last error
# diagnosed: the last error is lost: no `raise ... from`
from labkit import RetriesExhausted


def execute_with_retry(fn, max_attempts, clock):
    last_error = None
    for i in range(max_attempts):
        try:
            return fn()
        except Exception as error:
            last_error = error
        if i < max_attempts - 1:
            clock.sleep(1 << i)
    raise RetriesExhausted(f"failed after {max_attempts} retries: {last_error}", attempts=max_attempts)
