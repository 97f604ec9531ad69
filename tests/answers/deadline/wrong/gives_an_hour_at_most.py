# wrong: tells a step of an hour where there are days
# diagnosed: the time left is wrong from the start
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(min(left, 3600.0))
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
