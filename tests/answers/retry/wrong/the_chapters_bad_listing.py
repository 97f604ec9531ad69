# wrong: the chapter's "bad": one call, and its first error is the end
def execute_with_retry(fn, max_attempts, clock):
    return fn()
