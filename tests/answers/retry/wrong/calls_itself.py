# wrong: calls itself for the next attempt and never ends
# diagnosed: calls itself without an end
def execute_with_retry(fn, max_attempts, clock):
    return execute_with_retry(fn, max_attempts - 1, clock)
