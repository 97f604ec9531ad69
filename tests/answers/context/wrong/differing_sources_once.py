# wrong: of two facts that differ only in their source one is taken
# diagnosed: takes two facts that differ in their source for one
from labkit import BudgetTooSmall, ContextSlice


def size(chosen):
    return len(chosen.model_dump_json().encode())


def one_of_each(facts):
    """The newest of those that say the same of one thing, each from another source; what is there twice stays twice."""
    for place, fact in reversed([*enumerate(facts)]):
        said = [other.source for other in facts[place + 1 :] if (other.key, other.value) == (fact.key, fact.value)]
        if not said or fact.source in said:
            yield fact


def select_context(state, current_step, max_bytes):
    chosen = ContextSlice(goal=state.goal, current_step=current_step)
    if size(chosen) > max_bytes:
        raise BudgetTooSmall("goal and step alone do not fit")
    candidates = [("artifacts", artifact) for artifact in state.artifacts if artifact.step == current_step]
    candidates += [("facts", fact) for fact in one_of_each(state.known_facts)]
    candidates += [("open_questions", question) for question in state.open_questions]
    for name, item in candidates:
        longer = chosen.model_copy(update={name: [*getattr(chosen, name), item]})
        if size(longer) <= max_bytes:
            chosen = longer
    return chosen
