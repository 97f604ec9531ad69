# wrong: the chapter's "bad": one call, and its first error is the end
# diagnosed: never tries again
def execute_with_retry(fn, max_attempts, clock):
    return fn()
