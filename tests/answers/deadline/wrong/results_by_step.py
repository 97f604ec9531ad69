# wrong: keeps the results in a dict by step
# diagnosed: takes a step that stands in the list twice for one
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = {}
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=list(results.values()))
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=list(results.values()))
        results[step] = result
    return list(results.values())
