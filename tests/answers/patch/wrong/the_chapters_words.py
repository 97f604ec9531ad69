# wrong: the chapter in its own words: append facts, replace the plan, add questions
# diagnosed: a fact that is known is added again
def apply_patch(state, patch):
    after = state.model_copy(deep=True)
    after.known_facts += patch.facts
    if patch.plan is not None:
        after.plan = list(patch.plan)
    after.open_questions += patch.open_questions
    return after
