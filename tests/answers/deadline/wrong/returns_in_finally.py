# wrong: `return` in a `finally` swallows whatever was on its way
# diagnosed: returns what it has as if all were done
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    try:
        for step in steps:
            left = end - clock.monotonic()
            if left <= 0:
                raise DeadlineExceeded(completed=results)
            result = step(left)
            if clock.monotonic() > end:
                raise DeadlineExceeded(completed=results)
            results.append(result)
    finally:
        return results
