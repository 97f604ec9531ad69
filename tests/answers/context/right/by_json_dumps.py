# right: measures by the standard library's json, told to be as terse as pydantic
import json
import logging

from labkit import BudgetTooSmall, ContextSlice


def sent(data) -> int:
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))


def select_context(state, current_step, max_bytes):
    data = {"goal": state.goal, "current_step": current_step, "artifacts": [], "facts": [], "open_questions": []}
    if sent(data) > max_bytes:
        raise BudgetTooSmall("nothing fits")
    artifacts = (a.model_dump() for a in state.artifacts if a.step == current_step)
    facts = (f.model_dump() for f in state.known_facts[::-1])
    for section, items in (("artifacts", artifacts), ("facts", facts), ("open_questions", state.open_questions)):
        for item in items:
            data[section].append(item)
            if sent(data) > max_bytes:
                data[section].pop()
                logging.warning("left out of %s: %r", section, item)
    return ContextSlice.model_validate(data)
