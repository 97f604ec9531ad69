# wrong: who leaves with an exit code leaves without it
# diagnosed: an exit is made anew
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
        except SystemExit:
            raise SystemExit from None
        if clock.monotonic() > end:
            raise DeadlineExceeded(completed=done)
        done.append(result)
    return done
