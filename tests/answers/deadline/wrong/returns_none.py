# wrong: returns nothing
def run_with_deadline(steps, deadline, clock):
    return None
