# wrong: the chapter's "bad": no deadline at all
# diagnosed: does not test the deadline before each step
def run_with_deadline(steps, deadline, clock):
    return [step((deadline - clock.now()).total_seconds()) for step in steps]
