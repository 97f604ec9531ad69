# right: what is left to do is the same job with one attempt less and twice the wait
import labkit


def _go(fn, used, allowed, wait, clock):
    try:
        return fn()
    except Exception as error:
        if isinstance(error, labkit.TerminalError):
            raise
        if used == allowed:
            raise labkit.RetriesExhausted("no attempt worked", attempts=used) from error
    clock.sleep(wait)
    return _go(fn, used + 1, allowed, wait * 2, clock)


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts <= 0:
        raise ValueError(max_attempts)
    return _go(fn, 1, max_attempts, 1.0, clock)
