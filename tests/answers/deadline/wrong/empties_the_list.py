# wrong: takes the steps out of the caller's list
# diagnosed: changes the caller's list
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    while steps:
        step = steps.pop(0) if isinstance(steps, list) else steps[0]
        steps = steps if isinstance(steps, list) else steps[1:]
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
