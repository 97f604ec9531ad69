# wrong: returns at once
# diagnosed: does nothing
def run_saga(steps, log):
    return None
