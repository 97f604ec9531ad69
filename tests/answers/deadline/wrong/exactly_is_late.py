# wrong: a step that ends exactly at the deadline counts as late
# diagnosed: exactly at the deadline is in time: `>=` where `>` belongs
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() >= end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
