# wrong: takes the seconds of a difference without its days
# diagnosed: the time left is wrong from the start
from datetime import timedelta

from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + max(timedelta(), deadline - clock.now()).seconds
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
