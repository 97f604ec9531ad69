# wrong: drops the zone of the deadline, so that a deadline given in another zone is hours off
# diagnosed: the time left is wrong from the start: another clock, another zone or a constant
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    naive = deadline.replace(tzinfo=None) - clock.now().replace(tzinfo=None)
    end = clock.monotonic() + naive.total_seconds()
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
