# wrong: takes the StopIteration of a step for that of the list
# diagnosed: a step's own error does not come through
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results, rest = [], iter(steps)
    while True:
        try:
            step = next(rest)
            left = end - clock.monotonic()
            if left <= 0:
                raise DeadlineExceeded(completed=results)
            result = step(left)
        except StopIteration:
            return results
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
