# wrong: nobody looks at the clock after the last step
# diagnosed: does not test the deadline after a step: a late last step counts
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results[:-1] if left < 0 else results)
        result = step(left)
        results.append(result)
    return results
