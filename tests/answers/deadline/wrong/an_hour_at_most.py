# wrong: nobody is given more than an hour
# diagnosed: the time left is wrong from the start
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + min((deadline - clock.now()).total_seconds(), 3600)
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=results)
        result = step(left)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
