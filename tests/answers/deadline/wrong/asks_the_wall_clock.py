# wrong: measures with the wall clock, which may be stepped
# diagnosed: measures with the wall clock
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    results = []
    for step in steps:
        left = (deadline - clock.now()).total_seconds()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.now() > deadline:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
