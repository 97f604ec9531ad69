# wrong: the result of a late step is in `completed`
# diagnosed: a result that came too late is in `completed`
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        results.append(result)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
    return results
