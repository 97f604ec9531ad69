# right: dictionaries keep the order and the first of each key; the new state is built by its constructor
from labkit.agent.state import AgentState


def first_of_each(key, items):
    kept = {}
    for item in items:
        kept.setdefault(key(item), item)
    return [*kept.values()]


def apply_patch(state, patch):
    fields = dict(state)
    fields["known_facts"] = first_of_each(lambda f: (f.key, f.value), state.known_facts + patch.facts)
    fields["artifacts"] = first_of_each(lambda a: a.artifact_id, state.artifacts + patch.artifacts)
    fields["risk_flags"] = list(dict.fromkeys(state.risk_flags + patch.risk_flags))
    questions = dict.fromkeys(state.open_questions + patch.open_questions)
    for answered in patch.answered:
        questions.pop(answered, None)
    fields["open_questions"] = list(questions)
    if patch.plan is not None:
        fields["plan"] = patch.plan[:]
    return AgentState(**fields)
