# right: a deep copy by the copy module, plain loops that append, no helper
import copy


def apply_patch(state, patch):
    new = copy.deepcopy(state)
    for fact in patch.facts:
        for known in new.known_facts:
            if known.key == fact.key and known.value == fact.value:
                break
        else:
            new.known_facts.append(fact)
    if patch.plan is not None:
        new.plan = copy.copy(patch.plan)
    for question in patch.open_questions:
        if question not in new.open_questions:
            new.open_questions.append(question)
    for question in patch.answered:
        while question in new.open_questions:
            new.open_questions.remove(question)
    for artifact in patch.artifacts:
        if not any(artifact.artifact_id == there.artifact_id for there in new.artifacts):
            new.artifacts.append(artifact.model_copy())
    for flag in patch.risk_flags:
        if new.risk_flags.count(flag) == 0:
            new.risk_flags.append(flag)
    return new
