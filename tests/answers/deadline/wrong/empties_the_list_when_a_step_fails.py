# wrong: takes the steps out of the caller's list, and puts them back only where no step fails
# diagnosed: changes the caller's list
from labkit import DeadlineExceeded


def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    all_steps, done, late = tuple(steps), [], False
    queue = steps if isinstance(steps, list) else list(steps)
    while queue and not late:
        step = queue.pop(0)
        left = end - clock.monotonic()
        result = step(left) if left > 0 else None
        late = left <= 0 or clock.monotonic() > end
        if not late:
            done.append(result)
    queue[:] = all_steps
    if late:
        raise DeadlineExceeded(completed=done)
    return done
