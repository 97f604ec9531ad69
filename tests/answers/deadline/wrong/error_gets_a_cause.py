# wrong: a step's own error comes out with a cause that it never had
# diagnosed: a step's own error does not come through as it was
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    done = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise DeadlineExceeded(completed=done)
        try:
            result = step(left)
        except Exception as error:
            raise error from DeadlineExceeded(completed=done)
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=done)
        done.append(result)
    return done
