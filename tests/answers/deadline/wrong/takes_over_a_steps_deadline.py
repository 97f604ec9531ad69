# wrong: a step's own DeadlineExceeded is taken for the run's
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
        except DeadlineExceeded:
            raise DeadlineExceeded(completed=results) from None
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
