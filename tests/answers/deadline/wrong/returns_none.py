# wrong: returns nothing
# diagnosed: runs nothing
def run_with_deadline(steps, deadline, clock):
    return None
