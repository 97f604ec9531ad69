# wrong: finds every run fine
# diagnosed: does not see a task that never ends
def invariant(trace):
    return None
