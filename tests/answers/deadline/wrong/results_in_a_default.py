# wrong: the list of results is a mutable default and lives on
# diagnosed: keeps results or times from one run to the next
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock, results=[]):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
