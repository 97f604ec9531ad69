# wrong: asks the machine for the time, not the clock it was given
# diagnosed: the time left is wrong from the start: another clock, another zone or a constant
import time
from datetime import UTC, datetime

from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = time.monotonic() + (deadline - datetime.now(UTC)).total_seconds()
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
