# right: works on plain dictionaries of the JSON form and validates what comes out
import json

import labkit


def merged(old, new, *keys):
    def name(item):
        return tuple(item[key] for key in keys) if keys else item

    result = list(old)
    for item in new:
        if name(item) not in map(name, result):
            result.append(item)
    return result


def apply_patch(state, patch):
    before, change = json.loads(state.model_dump_json()), json.loads(patch.model_dump_json())
    after = dict(before)
    after["known_facts"] = merged(before["known_facts"], change["facts"], "key", "value")
    after["artifacts"] = merged(before["artifacts"], change["artifacts"], "artifact_id")
    after["risk_flags"] = merged(before["risk_flags"], change["risk_flags"])
    asked = merged(before["open_questions"], change["open_questions"])
    after["open_questions"] = [q for q in asked if q not in change["answered"]]
    if change["plan"] is not None:
        after["plan"] = change["plan"]
    return labkit.AgentState.model_validate_json(json.dumps(after))
