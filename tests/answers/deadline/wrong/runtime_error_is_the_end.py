# wrong: takes some errors of a step for the end of the list
# diagnosed: a step's own error does not come through
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        try:
            result = step(left)
        except (RuntimeError, StopIteration):
            break
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
