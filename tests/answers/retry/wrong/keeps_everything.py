# wrong: keeps more than fits into the memory
# diagnosed: uses up the memory that it may
def execute_with_retry(fn, max_attempts, clock):
    kept = []
    while True:
        kept.append(bytes(10**8))
