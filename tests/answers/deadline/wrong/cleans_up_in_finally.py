# wrong: the result is noted in a `finally`, whether the step was in time or not
# diagnosed: a result that came too late is in `completed`
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = None
        try:
            result = step(left)
            if clock.monotonic() > end:
                raise DeadlineExceeded(completed=results)
        finally:
            results.append(result)
    return results
