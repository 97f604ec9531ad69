# wrong: the chapter's "bad": no deadline at all
def run_with_deadline(steps, deadline, clock):
    return [step((deadline - clock.now()).total_seconds()) for step in steps]
