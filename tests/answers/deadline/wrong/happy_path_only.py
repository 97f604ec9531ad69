# wrong: looks at the time once at the beginning
# diagnosed: does not test the deadline before each step
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    if end <= clock.monotonic():
        raise DeadlineExceeded(completed=results)
    for step in steps:
        left = end - clock.monotonic()
        result = step(left)
        results.append(result)
    return results
