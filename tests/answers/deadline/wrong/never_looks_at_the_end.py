# wrong: tells each step how long it has, and never looks whether that was too long
# diagnosed: does not test the deadline before each step
def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        results.append(step(end - clock.monotonic()))
    return results
