# wrong: a finally turns an exit of a late step into DeadlineExceeded
# diagnosed: catches BaseException: a crash or Ctrl-C is turned into something else
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
        finally:
            if clock.monotonic() > end:
                raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
