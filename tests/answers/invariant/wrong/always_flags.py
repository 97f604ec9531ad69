# wrong: finds no run fine
# diagnosed: raises a false alarm when nothing went wrong
def invariant(trace):
    return "something is wrong"
