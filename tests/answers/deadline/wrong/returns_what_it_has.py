# wrong: returns what it has when the time is up, as if all were done
# diagnosed: returns what it has as if all were done
def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            return results
        result = step(left)
        if clock.monotonic() > end:
            return results
        results.append(result)
    return results
