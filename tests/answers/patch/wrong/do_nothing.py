# wrong: gives the old state back
# diagnosed: known_facts of the patch is not applied
def apply_patch(state, patch):
    return state
