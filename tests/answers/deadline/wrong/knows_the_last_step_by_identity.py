# wrong: stops at the callable that stands last in the list
# diagnosed: takes a step that stands in the list twice for one
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
        if step is steps[-1]:
            break
    return results
