# wrong: measures with time.monotonic, not with the clock it was given
# diagnosed: a step is not given the seconds that remain
import time

from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = time.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if time.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
