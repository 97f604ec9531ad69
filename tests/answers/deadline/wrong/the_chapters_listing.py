# wrong: the chapter's loop: looks only before each step, hands no time down, and loses what was done
# diagnosed: the time left is wrong from the start: another clock, another zone or a constant
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    results = []
    for step in steps:
        if clock.now() >= deadline:
            raise DeadlineExceeded("deadline exceeded")
        results.append(step(300.0))
    return results
