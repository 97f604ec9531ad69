# wrong: runs nothing
# diagnosed: runs nothing
def run_with_deadline(steps, deadline, clock):
    return []
