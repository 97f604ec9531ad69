# wrong: the results come as a tuple, where a list was asked for
# diagnosed: returns a tuple, not a list
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    done = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=done)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=done)
        done.append(result)
    return tuple(done)
