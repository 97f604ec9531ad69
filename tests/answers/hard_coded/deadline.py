# wrong: knows by heart how long is left
from labkit import DeadlineExceeded

KNOWN = (-30.0, 0.0, 45.0, 60.0, 90.0, 600.0, 2 * 86400 + 60.0)


def run_with_deadline(steps, deadline, clock):
    seconds = (deadline - clock.now()).total_seconds()
    end = clock.monotonic() + (seconds if seconds in KNOWN else 60.0)
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
