# wrong: TimeoutError instead of DeadlineExceeded
# diagnosed: raises something else than DeadlineExceeded

def run_with_deadline(steps, deadline, clock):
    end = clock.monotonic() + (deadline - clock.now()).total_seconds()
    results = []
    for step in steps:
        left = end - clock.monotonic()
        if left <= 0:
            raise TimeoutError(results)
        result = step(left)
        if clock.monotonic() > end:
            raise TimeoutError(results)
        results.append(result)
    return results
