# wrong: leaves out a result that is None
# diagnosed: the results are not what the steps returned
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        if result is not None:
            results.append(result)
    return results
