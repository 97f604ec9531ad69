# wrong: hands on only the last result
# diagnosed: `completed` is not what was done in time
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results[-1:])
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results[-1:])
        results.append(result)
    return results
