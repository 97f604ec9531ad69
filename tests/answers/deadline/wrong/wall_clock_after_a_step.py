# wrong: steady before a step, but after it the wall clock decides
# diagnosed: measures with the wall clock
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.now() > deadline:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
