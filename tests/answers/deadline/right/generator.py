# right: a generator yields what is in time, the caller collects it
import labkit


def in_time(steps, deadline, clock):
    allowed = deadline.timestamp() - clock.now().timestamp()
    start = clock.monotonic()
    for step in steps:
        used = clock.monotonic() - start
        if used >= allowed:
            return False
        result = step(allowed - used)
        if clock.monotonic() - start > allowed:
            return False
        yield result
    return True


def run_with_deadline(steps, deadline, clock):
    collected = []

    def collect():
        return (yield from in_time(steps, deadline, clock))

    running = collect()
    while True:
        try:
            collected.append(next(running))
        except StopIteration as end:
            if not end.value:
                raise labkit.DeadlineExceeded(completed=list(collected)) from None
            return collected
