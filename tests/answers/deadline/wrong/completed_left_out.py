# wrong: does not say what was done
# diagnosed: `completed` is not what was done in time
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded()
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded()
        results.append(result)
    return results
