# wrong: GeneratorExit ends the list quietly
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
        except GeneratorExit:
            return results
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=results)
        results.append(result)
    return results
