# right: the first step, then the rest with what was done so far
from datetime import timedelta

from labkit import DeadlineExceeded


def _rest(steps, done, remaining):
    if not steps:
        return done
    left = remaining()
    if not left > timedelta(0):
        raise DeadlineExceeded(completed=done)
    first, *others = steps
    result = first(left / timedelta(seconds=1))
    if remaining() < timedelta(0):
        raise DeadlineExceeded(completed=done)
    return _rest(others, [*done, result], remaining)


def run_with_deadline(steps, deadline, clock):
    total, began = deadline - clock.now(), clock.monotonic()
    return _rest(list(steps), [], lambda: total - timedelta(seconds=clock.monotonic() - began))
