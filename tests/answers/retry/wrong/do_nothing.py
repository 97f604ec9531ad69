# wrong: returns without calling anything
# diagnosed: does nothing
def execute_with_retry(fn, max_attempts, clock):
    return None
